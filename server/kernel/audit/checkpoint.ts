// A checkpoint: a signed statement of where every chain ended that had grown since the one before. Whoever keeps
// checkpoints elsewhere sees a tail that was cut, and a past that was written anew.
import type { Head } from "./chain.ts"
import { hex } from "./row.ts"
import type { AuditSeals } from "./seals.ts"

export const checkpointType = "aud-cp+jwt"

/** What is signed, as `aud-cp+jwt`. */
export interface CheckpointClaims {
  readonly iss: string
  /** Seconds since the Unix epoch. */
  readonly iat: number
  /** From 1, without gaps. */
  readonly number: number
  /** SHA-256 of the signed statement before, in hexadecimal; null for the first. */
  readonly prev: string | null
  /** The root of a Merkle tree over the heads, in hexadecimal. */
  readonly root: string
  /** How many heads. */
  readonly heads: number
}

export interface Checkpoint {
  readonly number: bigint
  readonly createdAtMs: number
  readonly jws: string
  /** HMAC of the statement under the key that the database has not. */
  readonly stamp: Uint8Array
}

export interface CheckpointHeads {
  readonly checkpoint: Checkpoint
  readonly heads: readonly Head[]
}

type Digest = Pick<AuditSeals, "digest">

/** One step from a leaf to the root: the hash beside, and whether that is the left one. */
export interface ProofStep {
  readonly hash: Uint8Array
  readonly isLeft: boolean
}

export const headHash = ({ digest }: Digest, { shard, seq, hash }: Head): Uint8Array =>
  digest(JSON.stringify(["signet audit head v1", shard, seq.toString(), hex(hash)]))

const nodeHash = ({ digest }: Digest, left: Uint8Array, right: Uint8Array): Uint8Array =>
  digest(JSON.stringify(["signet audit node v1", hex(left), hex(right)]))

/** Heads in the order of the tree: by shard. */
export const inOrder = (heads: readonly Head[]): readonly Head[] =>
  heads.toSorted((a, b) => (a.shard < b.shard ? -1 : a.shard > b.shard ? 1 : 0))

/** The root over heads that are in order; of none, a hash of its own. */
export function merkleRoot(seals: Digest, heads: readonly Head[]): Uint8Array {
  let level = heads.map((head) => headHash(seals, head))
  while (level.length > 1) level = pairsOf(level).map(([left, right]) => joined(seals, left, right))
  return level[0] ?? seals.digest(JSON.stringify(["signet audit no heads v1"]))
}

/** How the head at this index is shown to be under the root. */
export function merkleProof(seals: Digest, heads: readonly Head[], index: number): readonly ProofStep[] {
  const proof: ProofStep[] = []
  let level = heads.map((head) => headHash(seals, head))
  for (let at = index; level.length > 1; at = at >> 1) {
    const beside = level[at ^ 1]
    if (beside !== undefined) proof.push({ hash: beside, isLeft: at % 2 === 1 })
    level = pairsOf(level).map(([left, right]) => joined(seals, left, right))
  }
  return proof
}

/** The root that a head and its proof lead to. */
export const rootOf = (seals: Digest, head: Head, proof: readonly ProofStep[]): Uint8Array =>
  proof.reduce(
    (at, { hash, isLeft }) => (isLeft ? nodeHash(seals, hash, at) : nodeHash(seals, at, hash)),
    headHash(seals, head),
  )

/** The last one of an odd level goes up alone. */
const joined = (seals: Digest, left: Uint8Array, right: Uint8Array | undefined): Uint8Array =>
  right === undefined ? left : nodeHash(seals, left, right)

function pairsOf(level: readonly Uint8Array[]): [Uint8Array, Uint8Array | undefined][] {
  return level.flatMap((left, i): [Uint8Array, Uint8Array | undefined][] => (i % 2 === 0 ? [[left, level[i + 1]]] : []))
}

/** What the next checkpoint says. */
export function buildCheckpoint(
  seals: Digest,
  of: { iss: string; nowMs: number; last: Pick<Checkpoint, "number" | "jws"> | undefined; heads: readonly Head[] },
): CheckpointClaims {
  const { iss, nowMs, last, heads } = of
  return {
    iss,
    iat: Math.floor(nowMs / 1_000),
    number: Number(last?.number ?? 0n) + 1,
    prev: last === undefined ? null : hex(seals.digest(last.jws)),
    root: hex(merkleRoot(seals, inOrder(heads))),
    heads: heads.length,
  }
}

/** What the event of a checkpoint names: its number and the hash of its statement. */
export const checkpointTarget = (seals: Digest, { number, jws }: Pick<Checkpoint, "number" | "jws">): string =>
  `${number}:${hex(seals.digest(jws))}`
