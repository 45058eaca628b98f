// The signing keys of tokens and statements, one set for each purpose. Each process has a ring; the store synchronizes
// them.
import { createPrivateKey, createPublicKey, type KeyObject, sign, webcrypto } from "node:crypto"
import type { KeyRing, PublicJwk, Secrets, SigningKeyRecord, SigningKeys } from "@signet/kernel/keys/ports"
import { type KeyPurpose, keyPurposes, purposeOf } from "@signet/kernel/keys/purposes"
import {
  type FreshKey,
  freshKeysNeeded,
  isPublished,
  planCompromise,
  planRotation,
  type RotationPeriods,
} from "@signet/kernel/keys/rotation"
import { signingKeyLabel } from "@signet/kernel/keys/sealed-columns"
import type { Clock } from "@signet/kernel/ports"
import { joseSignature } from "./jose-signature.ts"

export interface KeyRingOptions extends Partial<RotationPeriods> {
  signingKeys: SigningKeys
  secrets: Pick<Secrets, "seal" | "open" | "digest" | "sealsWith">
  clock: Clock
}

/** A change that this process made, for the audit log. */
export interface KeyChange {
  kid: string
  purpose: KeyPurpose
  status: SigningKeyRecord["status"]
}

export interface RunningKeyRing extends KeyRing {
  /**
   * Loads the keys; creates them at the first start. Nothing can be signed before.
   *
   * @throws Error if a key cannot be opened: another sealing key has sealed it.
   */
  start(): Promise<readonly KeyChange[]>
  /**
   * Loads other processes' changes, and rotates keys that are due. Call it every few seconds. Until the next successful
   * call this process uses the keys that it knows.
   */
  tick(): Promise<readonly KeyChange[]>
  /**
   * Lets NEXT of this purpose sign before it is due. CURRENT stays published. Other processes follow at their next
   * tick.
   *
   * @param options.isEarly Permits a key that was not published for long enough. Verifiers then request it as unknown.
   * @returns No change of this purpose if NEXT was not published for long enough.
   */
  rotate(purpose: KeyPurpose, options: { readonly isEarly: boolean }): Promise<readonly KeyChange[]>
  /**
   * Withdraws a key at once: its key set no longer contains it, and NEXT signs. Other processes follow at their next
   * tick.
   *
   * @returns Empty if the key is unknown, or was withdrawn before.
   */
  compromise(kid: string): Promise<readonly KeyChange[]>
}

interface Signer {
  kid: string
  privateKey: KeyObject
}

/** The keys of one purpose. */
interface Loaded {
  current: Signer
  /** Opened in advance, so that it can sign as soon as CURRENT is compromised. */
  next: Signer
  published: readonly PublicJwk[]
}

const day = 86_400_000

/**
 * @param options.rotateAfterMs How long a key signs. Default: 30 days.
 * @param options.publishAheadMs How long a key is published before it signs. Default: 24 hours.
 * @param options.retireAfterMs How long a key stays published after its last signature. Default: 24 hours.
 */
export function createKeyRing(options: KeyRingOptions): RunningKeyRing {
  const { signingKeys, secrets, clock, rotateAfterMs = 30 * day, publishAheadMs = day, retireAfterMs = day } = options
  const periods = { rotateAfterMs, publishAheadMs, retireAfterMs }
  let loaded: Readonly<Record<KeyPurpose, Loaded>> | undefined
  let fresh: readonly FreshKey[] = []
  let freshUnder = ""
  let last: Promise<unknown> = Promise.resolve()

  function keysOf(purpose: KeyPurpose): Loaded {
    if (loaded === undefined) throw new Error("the key ring is not started")
    return loaded[purpose]
  }

  function load(purpose: KeyPurpose, all: readonly SigningKeyRecord[]): Loaded {
    const keys = all.filter((key) => key.purpose === purpose)
    const before = loaded?.[purpose]
    const known = before === undefined ? [] : [before.current, before.next]
    const signerOf = (status: "CURRENT" | "NEXT") => {
      const key = keys.find((one) => one.status === status)
      if (key === undefined) throw new Error(`no ${status} signing key exists for ${purpose}`)
      return known.find((signer) => signer.kid === key.kid) ?? openKey(secrets, key)
    }
    const published = keys.filter(isPublished).map((key) => key.publicJwk)
    return { current: signerOf("CURRENT"), next: signerOf("NEXT"), published }
  }

  function adopt(keys: readonly SigningKeyRecord[]): void {
    loaded = { ACCESS: load("ACCESS", keys), STATEMENT: load("STATEMENT", keys), CONTEXT: load("CONTEXT", keys) }
  }

  type Plan = (keys: readonly SigningKeyRecord[], nowMs: number) => readonly SigningKeyRecord[]
  type PurposePlan = (
    keys: readonly SigningKeyRecord[],
    fresh: readonly FreshKey[],
    nowMs: number,
    purpose: KeyPurpose,
  ) => readonly SigningKeyRecord[]
  /** Applies a plan to the keys of each purpose separately. */
  function eachPurpose(plan: PurposePlan): Plan {
    return (keys, nowMs) =>
      keyPurposes.flatMap((purpose) =>
        plan(
          keys.filter((key) => key.purpose === purpose),
          fresh.filter((key) => key.purpose === purpose),
          nowMs,
          purpose,
        ),
      )
  }

  async function follow(plan: Plan): Promise<readonly KeyChange[]> {
    if (fresh.length === 0 || freshUnder !== secrets.sealsWith()) {
      freshUnder = secrets.sealsWith()
      fresh = await makeKeys(secrets)
    }
    const nowMs = clock.nowMs()
    let keys = await signingKeys.list()
    let writes = plan(keys, nowMs)
    if (writes.length > 0) {
      // Planned again under the lock: another process may have made the change.
      keys = await signingKeys
        .change((locked) => {
          writes = plan(locked, nowMs)
          return writes
        })
        .finally(() => {
          // Also after a failure: the keys may be stored although the answer was lost.
          fresh = []
        })
    }
    adopt(keys)
    return writes.map(({ kid, purpose, status }) => ({ kid, purpose, status }))
  }

  function inTurn(plan: Plan): Promise<readonly KeyChange[]> {
    const run = last.then(() => follow(plan))
    last = run.catch(() => undefined)
    return run
  }

  const rotate = eachPurpose((keys, made, nowMs) => planRotation(keys, made, nowMs, periods))
  return {
    start: () => inTurn(rotate),
    tick: () => inTurn(rotate),
    rotate: (purpose, { isEarly }) => {
      const due = { ...periods, rotateAfterMs: 0, ...(isEarly && { publishAheadMs: 0 }) }
      return inTurn(
        eachPurpose((keys, made, nowMs, of) => planRotation(keys, made, nowMs, of === purpose ? due : periods)),
      )
    },
    compromise: (kid) => inTurn(eachPurpose((keys, made, nowMs) => planCompromise(kid, keys, made, nowMs, periods))),
    sign(typ, claims) {
      const { kid, privateKey } = keysOf(purposeOf(typ)).current
      const input = `${encode({ alg: "ES256", typ, kid })}.${encode(claims)}`
      // `node:crypto` takes twice as long to sign in the form of JOSE as in DER.
      const signature = joseSignature(sign("sha256", Buffer.from(input), privateKey))
      return `${input}.${signature.toString("base64url")}`
    },
    jwks: (purpose = "ACCESS") => keysOf(purpose).published,
  }
}

function encode(json: unknown): string {
  return Buffer.from(JSON.stringify(json), "utf8").toString("base64url")
}

/** Uses Web Crypto, which does not block. An export right after generateKeyPairSync can hang. */
async function makeKeys(secrets: Pick<Secrets, "seal" | "digest">): Promise<readonly FreshKey[]> {
  const purposes = keyPurposes.flatMap((purpose) => Array.from({ length: freshKeysNeeded }, () => purpose))
  return Promise.all(purposes.map((purpose) => makeKey(secrets, purpose)))
}

async function makeKey(secrets: Pick<Secrets, "seal" | "digest">, purpose: KeyPurpose): Promise<FreshKey> {
  const pair = await webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"])
  const { x, y } = await webcrypto.subtle.exportKey("jwk", pair.publicKey)
  if (x === undefined || y === undefined) throw new Error("the generated key has no coordinates")
  const publicJwk = describeKey(secrets, x, y)
  const privateKey = new Uint8Array(await webcrypto.subtle.exportKey("pkcs8", pair.privateKey))
  const privateSealed = secrets.seal(signingKeyLabel({ kid: publicJwk.kid, purpose }), privateKey)
  privateKey.fill(0)
  return { kid: publicJwk.kid, purpose, publicJwk, privateSealed }
}

/** The public JWK. Its kid is the key's thumbprint (RFC 7638). */
function describeKey(secrets: Pick<Secrets, "digest">, x: string, y: string): PublicJwk {
  const kid = Buffer.from(secrets.digest(JSON.stringify({ crv: "P-256", kty: "EC", x, y }))).toString("base64url")
  return { kty: "EC", crv: "P-256", x, y, kid, alg: "ES256", use: "sig" }
}

function openKey(secrets: Pick<Secrets, "open" | "digest">, key: SigningKeyRecord): Signer {
  const pkcs8 = secrets.open(signingKeyLabel(key), key.privateSealed)
  if (pkcs8 === undefined) throw new Error(`the signing key ${key.kid} does not open under this sealing key`)
  const privateKey = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" })
  const { x = "", y = "" } = createPublicKey(privateKey).export({ format: "jwk" })
  // If the row's halves are of different keys, no verifier could verify a signature.
  if (describeKey(secrets, x, y).kid !== key.kid || key.publicJwk.x !== x || key.publicJwk.y !== y) {
    throw new Error(`the signing key ${key.kid} does not match its row`)
  }
  return { kid: key.kid, privateKey }
}
