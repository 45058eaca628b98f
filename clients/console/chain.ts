// Verifies an audit chain in the browser: the hash of every link, the hash of every event text, and the signature, the
// order and the Merkle path of every checkpoint. The format is in proto/signet/auth/v1/audit_service.proto.
import type { AuditCheckpoint, AuditHead, AuditLink } from "@signet/proto/auth/v1/audit_service"

export interface Flaw {
  readonly what:
    | "LINK_CHANGED"
    | "LINK_MISSING"
    | "EVENT_CHANGED"
    | "CHECKPOINT_SIGNATURE"
    | "CHECKPOINT_ORDER"
    | "CHECKPOINT_ROOT"
    | "HEAD_MISMATCH"
  /** The number of the link or of the checkpoint. */
  readonly at: bigint
}

const encoder = new TextEncoder()

export const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")

async function digest(text: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))))
}

const hashOf = (parts: readonly unknown[]): Promise<string> => digest(JSON.stringify(parts))

export interface ChainState {
  /** Hashes by sequence number. */
  readonly hashes: Map<bigint, string>
  readonly flaws: Flaw[]
  links: number
  texts: number
}

export const newChain = (): ChainState => ({ hashes: new Map(), flaws: [], links: 0, texts: 0 })

/** Verifies the next links of a chain, in order. */
export async function verifyLinks(chain: string, state: ChainState, links: readonly AuditLink[]): Promise<void> {
  for (const { seq, eventId, eventHash, linkedAtMs, hash, eventText } of links) {
    const before = state.hashes.get(seq - 1n) ?? (seq === 1n ? "0".repeat(64) : undefined)
    // A chain whose oldest links were dropped begins later: its first hash cannot be computed here.
    const isStart = state.links === 0 && seq > 1n
    if (before === undefined && !isStart) state.flaws.push({ what: "LINK_MISSING", at: seq })
    if (before !== undefined) {
      const parts = ["signet audit link v1", chain, String(seq), before, eventId, hex(eventHash), Number(linkedAtMs)]
      if ((await hashOf(parts)) !== hex(hash)) state.flaws.push({ what: "LINK_CHANGED", at: seq })
    }
    if (eventText !== "") {
      state.texts++
      if ((await digest(eventText)) !== hex(eventHash)) state.flaws.push({ what: "EVENT_CHANGED", at: seq })
    }
    state.hashes.set(seq, hex(hash))
    state.links++
  }
}

export interface CheckpointState {
  readonly flaws: Flaw[]
  count: number
  /** Checkpoints that have a head of this chain. */
  heads: number
  last: { readonly number: bigint; readonly digest: string } | undefined
}

export const newCheckpoints = (): CheckpointState => ({ flaws: [], count: 0, heads: 0, last: undefined })

export interface PublishedKey {
  readonly kid: string
  readonly key: CryptoKey
}

/** Imports the keys of /.well-known/statement-keys.json. */
export async function importKeys(set: {
  readonly keys: readonly (JsonWebKey & { kid?: string })[]
}): Promise<PublishedKey[]> {
  return Promise.all(
    set.keys.map(async (jwk) => ({
      kid: jwk.kid ?? "",
      key: await crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]),
    })),
  )
}

interface CheckpointDeps {
  readonly chain: string
  readonly issuer: string
  readonly keys: readonly PublishedKey[]
  readonly hashes: ReadonlyMap<bigint, string>
}

/** Verifies the next checkpoints, in order, against the links that were verified before. */
export async function verifyCheckpoints(
  { chain, issuer, keys, hashes }: CheckpointDeps,
  state: CheckpointState,
  checkpoints: readonly AuditCheckpoint[],
): Promise<void> {
  for (const { number, jws, head } of checkpoints) {
    const flaw = (what: Flaw["what"]) => state.flaws.push({ what, at: number })
    const claims = await openStatement(jws, keys)
    state.count++
    if (claims === undefined || claims.iss !== issuer) flaw("CHECKPOINT_SIGNATURE")
    const { last } = state
    const isNext = last === undefined || (number === last.number + 1n && claims?.prev === last.digest)
    if (!isNext || BigInt(claims?.number ?? -1) !== number) flaw("CHECKPOINT_ORDER")
    if (head !== undefined) {
      state.heads++
      if ((await rootOf(chain, head)) !== claims?.root) flaw("CHECKPOINT_ROOT")
      const linked = hashes.get(head.seq)
      if (linked !== hex(head.hash)) flaw("HEAD_MISMATCH")
    }
    state.last = { number, digest: await digest(jws) }
  }
}

interface Claims {
  readonly iss: string
  readonly number: number
  readonly prev: string | null
  readonly root: string
}

/** Verifies a JWS of the type `aud-cp+jwt`. @returns Undefined if no published key signed it. */
async function openStatement(jws: string, keys: readonly PublishedKey[]): Promise<Claims | undefined> {
  const [header = "", payload = "", signature = ""] = jws.split(".")
  try {
    const { alg, typ, kid } = JSON.parse(new TextDecoder().decode(base64url(header)))
    const known = keys.find((one) => one.kid === kid)
    if (alg !== "ES256" || typ !== "aud-cp+jwt" || known === undefined) return undefined
    const algorithm = { name: "ECDSA", hash: "SHA-256" }
    const signed = encoder.encode(`${header}.${payload}`)
    if (!(await crypto.subtle.verify(algorithm, known.key, base64url(signature), signed))) return undefined
    return JSON.parse(new TextDecoder().decode(base64url(payload)))
  } catch {
    return undefined
  }
}

async function rootOf(chain: string, { seq, hash, proof }: AuditHead): Promise<string> {
  let at = await hashOf(["signet audit head v1", chain, String(seq), hex(hash)])
  for (const step of proof) {
    const pair = step.isLeft ? [hex(step.hash), at] : [at, hex(step.hash)]
    at = await hashOf(["signet audit node v1", ...pair])
  }
  return at
}

function base64url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))
}
