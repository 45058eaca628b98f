// The keys that access tokens are signed with. Every process has its own ring; they agree through the store.
import { createPrivateKey, createPublicKey, type KeyObject, sign, webcrypto } from "node:crypto"
import {
  type FreshKey,
  freshKeysNeeded,
  isPublished,
  planCompromise,
  planRotation,
  type RotationPeriods,
} from "@signet/kernel/keys/rotation"
import type { Clock, KeyRing, PublicJwk, Secrets, SigningKeyRecord, SigningKeys } from "@signet/kernel/ports"

export interface KeyRingOptions extends Partial<RotationPeriods> {
  signingKeys: SigningKeys
  secrets: Pick<Secrets, "seal" | "open" | "digest">
  clock: Clock
}

/** A change that this process made, for the audit log. */
export interface KeyChange {
  kid: string
  status: SigningKeyRecord["status"]
}

export interface RunningKeyRing extends KeyRing {
  /**
   * Loads the keys, and makes them at the very first start. Before, nothing can be signed.
   *
   * @throws Error when a key does not open: the service's sealing key is not the one that sealed it.
   */
  start(): Promise<readonly KeyChange[]>
  /**
   * Looks what other processes did, and does what is due. Call it every few seconds: between two calls this process
   * goes on with the keys that it knows, and so it does when the call fails.
   */
  tick(): Promise<readonly KeyChange[]>
  /**
   * Takes a key out of use at once: it leaves the key set, and NEXT signs. Other processes follow at their next tick.
   *
   * @returns Nothing when there is no such key, or when it was taken out before.
   */
  compromise(kid: string): Promise<readonly KeyChange[]>
}

interface Signer {
  kid: string
  privateKey: KeyObject
}

interface Loaded {
  current: Signer
  /** Ready, so that it can sign the moment that CURRENT is compromised. */
  next: Signer
  published: readonly PublicJwk[]
}

const day = 86_400_000

/**
 * @param options.rotateAfterMs How long a key signs; 30 days.
 * @param options.publishAheadMs How long a key is published before it signs; 24 hours.
 * @param options.retireAfterMs How long it stays published after it signed; 24 hours.
 */
export function createKeyRing(options: KeyRingOptions): RunningKeyRing {
  const { signingKeys, secrets, clock, rotateAfterMs = 30 * day, publishAheadMs = day, retireAfterMs = day } = options
  const periods = { rotateAfterMs, publishAheadMs, retireAfterMs }
  let loaded: Loaded | undefined
  let fresh: readonly FreshKey[] = []
  let last: Promise<unknown> = Promise.resolve()

  function current(): Loaded {
    if (loaded === undefined) throw new Error("the key ring was not started")
    return loaded
  }

  function adopt(keys: readonly SigningKeyRecord[]): void {
    const known = loaded === undefined ? [] : [loaded.current, loaded.next]
    const signerOf = (status: "CURRENT" | "NEXT") => {
      const key = keys.find((one) => one.status === status)
      if (key === undefined) throw new Error(`there is no ${status} signing key`)
      return known.find((signer) => signer.kid === key.kid) ?? openKey(secrets, key)
    }
    const published = keys.filter(isPublished).map((key) => key.publicJwk)
    loaded = { current: signerOf("CURRENT"), next: signerOf("NEXT"), published }
  }

  type Plan = (keys: readonly SigningKeyRecord[], nowMs: number) => readonly SigningKeyRecord[]
  async function follow(plan: Plan): Promise<readonly KeyChange[]> {
    if (fresh.length === 0) fresh = await makeKeys(secrets)
    const nowMs = clock.nowMs()
    let keys = await signingKeys.list()
    let writes = plan(keys, nowMs)
    if (writes.length > 0) {
      // Decided again under the lock: another process may have done it meanwhile.
      keys = await signingKeys
        .change((locked) => {
          writes = plan(locked, nowMs)
          return writes
        })
        .finally(() => {
          // Also when it failed: the answer may be lost and the keys kept.
          fresh = []
        })
    }
    adopt(keys)
    return writes.map(({ kid, status }) => ({ kid, status }))
  }

  function inTurn(plan: Plan): Promise<readonly KeyChange[]> {
    const run = last.then(() => follow(plan))
    last = run.catch(() => undefined)
    return run
  }

  const rotate: Plan = (keys, nowMs) => planRotation(keys, fresh, nowMs, periods)
  return {
    start: () => inTurn(rotate),
    tick: () => inTurn(rotate),
    compromise: (kid) => inTurn((keys, nowMs) => planCompromise(kid, keys, fresh, nowMs, periods)),
    sign(typ, claims) {
      const { kid, privateKey } = current().current
      const input = `${encode({ alg: "ES256", typ, kid })}.${encode(claims)}`
      // JWS wants the two numbers one after the other (RFC 7518 section 3.4), not OpenSSL's DER.
      const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" })
      return `${input}.${signature.toString("base64url")}`
    },
    jwks: () => current().published,
  }
}

function encode(json: unknown): string {
  return Buffer.from(JSON.stringify(json), "utf8").toString("base64url")
}

/** Made by Web Crypto, whose export neither blocks nor, as exporting right after generateKeyPairSync can, hangs. */
async function makeKeys(secrets: Pick<Secrets, "seal" | "digest">): Promise<readonly FreshKey[]> {
  return Promise.all(Array.from({ length: freshKeysNeeded }, () => makeKey(secrets)))
}

async function makeKey(secrets: Pick<Secrets, "seal" | "digest">): Promise<FreshKey> {
  const pair = await webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"])
  const { x, y } = await webcrypto.subtle.exportKey("jwk", pair.publicKey)
  if (x === undefined || y === undefined) throw new Error("the new key has no coordinates")
  const publicJwk = describeKey(secrets, x, y)
  const privateKey = new Uint8Array(await webcrypto.subtle.exportKey("pkcs8", pair.privateKey))
  const privateSealed = secrets.seal(labelOf(publicJwk.kid), privateKey)
  privateKey.fill(0)
  return { kid: publicJwk.kid, publicJwk, privateSealed }
}

/** The public members, and as kid the key's thumbprint (RFC 7638). */
function describeKey(secrets: Pick<Secrets, "digest">, x: string, y: string): PublicJwk {
  const kid = Buffer.from(secrets.digest(JSON.stringify({ crv: "P-256", kty: "EC", x, y }))).toString("base64url")
  return { kty: "EC", crv: "P-256", x, y, kid, alg: "ES256", use: "sig" }
}

function labelOf(kid: string): string {
  return `signing-key|${kid}`
}

function openKey(secrets: Pick<Secrets, "open" | "digest">, key: SigningKeyRecord): Signer {
  const pkcs8 = secrets.open(labelOf(key.kid), key.privateSealed)
  if (pkcs8 === undefined) throw new Error(`the signing key ${key.kid} does not open under this sealing key`)
  const privateKey = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" })
  const { x = "", y = "" } = createPublicKey(privateKey).export({ format: "jwk" })
  // A row whose halves are of different keys would sign what nobody can verify.
  if (describeKey(secrets, x, y).kid !== key.kid || key.publicJwk.x !== x || key.publicJwk.y !== y) {
    throw new Error(`the signing key ${key.kid} is not what its row says`)
  }
  return { kid: key.kid, privateKey }
}
