// The stored bytes of a scope: its keys, newest last, and a canary sealed under the newest.

import { SecretBoxError, type SecretScope } from "@signet/client"
import { type BoundBox, importSealingKey, openBytes, type SealingKey, sealBytes } from "../../core/platform.ts"

export interface KeptKeys {
  readonly newest: SealingKey
  find(id: string): SealingKey | undefined
}

const format = 1
const keyBytes = 32
/** Credential stores accept only small values. */
const maxKeys = 64
const canary = new TextEncoder().encode("signet canary")

/** The bytes to store after adding a key to the stored ones. The caller wipes both. */
export async function addKey(box: BoundBox, scope: SecretScope, before: Uint8Array | undefined): Promise<Uint8Array> {
  const count = before === undefined ? 0 : countOf(before)
  if (count >= maxKeys) throw new SecretBoxError("SECURE_STORE_UNAVAILABLE", `a scope has at most ${maxKeys} keys`)
  const raw = new Uint8Array(keyBytes * (count + 1))
  if (before !== undefined) raw.set(before.subarray(2, 2 + keyBytes * count))
  crypto.getRandomValues(raw.subarray(keyBytes * count))
  const newest = await importSealingKey(raw.subarray(keyBytes * count))
  const sealed = await sealBytes(box, newest, { scope, purpose: "canary" }, canary)
  const kept = new Uint8Array(2 + raw.length + sealed.length)
  kept.set([format, count + 1])
  kept.set(raw, 2)
  kept.set(sealed, 2 + raw.length)
  raw.fill(0)
  return kept
}

/**
 * @param kept The store's bytes; the caller wipes them.
 * @throws SecretBoxError SECURE_STORE_CHANGED if these are not the stored bytes.
 */
export async function readKeys(box: BoundBox, scope: SecretScope, kept: Uint8Array): Promise<KeptKeys> {
  const count = countOf(kept)
  const keys: SealingKey[] = []
  for (let i = 0; i < count; i++) {
    keys.push(await importSealingKey(kept.subarray(2 + keyBytes * i, 2 + keyBytes * (i + 1))))
  }
  const newest = keys.at(-1)
  if (newest === undefined) throw changed()
  const find = (id: string) => keys.find((key) => key.id === id)
  const sealed = kept.subarray(2 + keyBytes * count)
  const opened = await openBytes(box, find, { scope, purpose: "canary" }, sealed).catch((error: unknown) => {
    throw changed(error)
  })
  if (opened.length !== canary.length || opened.some((byte, i) => byte !== canary[i])) throw changed()
  return { newest, find }
}

function countOf(kept: Uint8Array): number {
  const [version = 0, count = 0] = kept
  if (version > format) {
    throw new SecretBoxError("STATE_NEWER_VERSION", "a later version of this program keeps its keys in the store")
  }
  if (version !== format || kept.length <= 2 + keyBytes * count) throw changed()
  return count
}

const changed = (cause?: unknown) =>
  new SecretBoxError("SECURE_STORE_CHANGED", "the store does not have the keys that were stored there", { cause })
