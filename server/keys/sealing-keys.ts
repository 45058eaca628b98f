// The service's sealing keys. During a rotation there are two: one seals, and both open.
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto"
import type { StampKey } from "@signet/kernel/audit/crypto"
import { type SealedLabel, type SealingScheme, stampKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { judgeHeld, type SealingKeyRecord, type StampEnd } from "@signet/kernel/keys/sealing"
import { openUnder, sealUnder } from "./seal-under.ts"

export interface SealingKeys {
  /** Ids of the keys in the settings, SIGNET_SEALING_KEY first. */
  readonly heldIds: readonly string[]
  /** The id of the key that seals and stamps. */
  sealsWith(): string
  /**
   * Applies the database's records: which key seals, which keys open, and which stamps are valid.
   *
   * @throws Error if these keys cannot open the stored values. Sealing and stamping then fail until a later call
   *   succeeds: a process that missed a rotation would use a retired key.
   */
  follow(records: readonly SealingKeyRecord[]): void
  seal(scheme: SealingScheme, label: SealedLabel, plaintext: Uint8Array): Uint8Array
  /** Undefined if no valid key opens the value. */
  open(scheme: SealingScheme, label: SealedLabel, sealed: Uint8Array): Uint8Array | undefined
  /**
   * Seals a value again under the current key.
   *
   * @returns `"current"` if the current key has sealed it, undefined if no key opens it.
   */
  reseal(scheme: SealingScheme, label: SealedLabel, sealed: Uint8Array): Uint8Array | "current" | undefined
  /** Seals the stamp key of a retiring key under its successor, for the record. */
  sealStampKey(of: { id: string; to: string; status: "PREVIOUS" | "RETIRED"; until: StampEnd | null }): Uint8Array
  stamp(text: string): Uint8Array
  stampedBy(text: string, stamp: Uint8Array): StampKey | undefined
  stampKeys(): readonly StampKey[]
}

interface HeldKey {
  readonly id: string
  readonly keys: Readonly<Record<SealingScheme, Uint8Array>>
  /** 32 bytes. */
  readonly stampKey: Uint8Array
}

interface Stamping extends StampKey {
  readonly bytes: Uint8Array
  readonly key: KeyObject
}

/** @throws RangeError for a key that is not 32 bytes long, and for two equal keys. */
export function createSealingKeys(keys: readonly [Uint8Array, ...Uint8Array[]]): SealingKeys {
  const held = keys.map(hold)
  if (new Set(held.map(({ id }) => id)).size !== held.length) throw new RangeError("two sealing keys are equal")
  const first = heldKey(held, held[0]?.id ?? "")
  let current = first
  let opening: readonly HeldKey[] = held
  let stamps: readonly Stamping[] = [stampingOf(first.id, first.stampKey, null)]
  let unfit: string | undefined

  const requireFit = () => {
    if (unfit !== undefined) throw new Error(unfit)
  }

  const open: SealingKeys["open"] = (scheme, label, sealed) => {
    for (const { keys } of opening) {
      const opened = openUnder(keys[scheme], label, sealed)
      if (opened !== undefined) return opened
    }
    return undefined
  }

  return {
    heldIds: held.map(({ id }) => id),
    sealsWith: () => current.id,

    follow(records) {
      if (records.length === 0) return
      const ids = held.map(({ id }) => id)
      unfit = judgeHeld(records, ids)
      requireFit()
      const used = records.find(({ status }) => status === "CURRENT")
      if (used === undefined) throw new Error("the database has no active sealing key")
      const next = heldKey(held, used.id)
      const earlier = records.filter(({ status }) => status !== "CURRENT")
      const stampsOf = earlier.map((record) => openStampKey(held, record))
      // The current key is first, because it has sealed most values.
      opening = [next, ...held.filter(({ id }) => id !== next.id)]
      stamps = [stampingOf(next.id, next.stampKey, null), ...stampsOf]
      current = next
    },

    seal(scheme, label, plaintext) {
      requireFit()
      return sealUnder(current.keys[scheme], label, plaintext)
    },
    open,

    reseal(scheme, label, sealed) {
      if (openUnder(current.keys[scheme], label, sealed) !== undefined) return "current"
      const opened = open(scheme, label, sealed)
      return opened && sealUnder(current.keys[scheme], label, opened)
    },

    sealStampKey({ id, to, status, until }) {
      const known = held.find((key) => key.id === id)?.stampKey ?? stamps.find(({ keyId }) => keyId === id)?.bytes
      if (known === undefined) throw new Error(`the stamp key of ${id} is unknown`)
      const kept = { key: Buffer.from(known).toString("base64url"), until: until && stringsOf(until) }
      const text = Buffer.from(JSON.stringify(kept), "utf8")
      return sealUnder(heldKey(held, to).keys.service, stampKeyLabel({ id, status }), text)
    },

    stamp(text) {
      requireFit()
      return hmac(stamps[0]?.key, text)
    },
    stampedBy: (text, stamp) => stamps.find(({ key }) => isEqual(hmac(key, text), stamp)),
    stampKeys: () => stamps,
  }
}

function hold(key: Uint8Array): HeldKey {
  if (key.length !== 32) throw new RangeError(`the sealing key has ${key.length} bytes instead of 32`)
  const derived = (info: string, length = 32) => new Uint8Array(hkdfSync("sha256", key, "", info, length))
  return {
    id: Buffer.from(derived("signet sealing key id v1", 12)).toString("base64url"),
    keys: { service: key, audit: derived("signet audit data keys v1") },
    stampKey: derived("signet audit stamp v1"),
  }
}

function heldKey(held: readonly HeldKey[], id: string): HeldKey {
  const key = held.find((one) => one.id === id)
  if (key === undefined) throw new Error(`the sealing key ${id} is not in the settings`)
  return key
}

const stampingOf = (keyId: string, bytes: Uint8Array, until: StampEnd | null): Stamping => ({
  keyId,
  until,
  bytes,
  key: createSecretKey(bytes),
})

function openStampKey(held: readonly HeldKey[], { id, status, stampSealed }: SealingKeyRecord): Stamping {
  const label = stampKeyLabel({ id, status })
  for (const { keys } of stampSealed === null ? [] : held) {
    const opened = openUnder(keys.service, label, stampSealed ?? new Uint8Array())
    if (opened === undefined) continue
    const { key, until } = JSON.parse(Buffer.from(opened).toString("utf8")) as StoredStampKey
    const end = until && { checkpoint: BigInt(until.checkpoint), hash: until.hash }
    return stampingOf(id, new Uint8Array(Buffer.from(key, "base64url")), end)
  }
  throw new Error(`the stamp key of the sealing key ${id} does not open`)
}

/** The content of a stamp key's record. It is authenticated, so this file has written it. */
interface StoredStampKey {
  readonly key: string
  readonly until: { readonly checkpoint: string; readonly hash: string } | null
}

const stringsOf = ({ checkpoint, hash }: StampEnd) => ({ checkpoint: checkpoint.toString(), hash })

function hmac(key: KeyObject | undefined, text: string): Uint8Array {
  if (key === undefined) throw new Error("no stamp key exists")
  return new Uint8Array(createHmac("sha256", key).update(text, "utf8").digest())
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)
