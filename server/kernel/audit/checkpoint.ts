// Checkpoints: signed statements of the heads of all chains that grew since the previous checkpoint. With a copy of the
// checkpoints outside the database, an auditor detects truncated and rewritten chains.
import type { Head } from "./chain.ts"
import type { AuditCrypto } from "./crypto.ts"
import { hex } from "./row.ts"

export const checkpointType = "aud-cp+jwt"

/** Payload of the signed statement (JWS type `aud-cp+jwt`). */
export interface CheckpointClaims {
  readonly iss: string
  /** Seconds since the Unix epoch. */
  readonly iat: number
  /** From 1, without gaps. */
  readonly number: number
  /** Hexadecimal SHA-256 of the previous signed statement; null for the first. */
  readonly prev: string | null
  /** Hexadecimal root of a Merkle tree over the heads. */
  readonly root: string
  /** Number of heads. */
  readonly heads: number
}

export interface Checkpoint {
  readonly number: bigint
  readonly createdAtMs: number
  readonly jws: string
  /** HMAC of the statement under a key outside the database. */
  readonly stamp: Uint8Array
}

export interface CheckpointHeads {
  readonly checkpoint: Checkpoint
  readonly heads: readonly Head[]
}

type Digest = Pick<AuditCrypto, "digest">

/** One step from a leaf to the root: the sibling's hash, and whether the sibling is on the left. */
interface ProofStep {
  readonly hash: Uint8Array
  readonly isLeft: boolean
}

const headHash = ({ digest }: Digest, { shard, seq, hash }: Head): Uint8Array =>
  digest(JSON.stringify(["signet audit head v1", shard, seq.toString(), hex(hash)]))

const nodeHash = ({ digest }: Digest, left: Uint8Array, right: Uint8Array): Uint8Array =>
  digest(JSON.stringify(["signet audit node v1", hex(left), hex(right)]))

/** Sorts heads by shard, the order of the tree's leaves. */
export const inOrder = (heads: readonly Head[]): readonly Head[] =>
  heads.toSorted((a, b) => (a.shard < b.shard ? -1 : a.shard > b.shard ? 1 : 0))

/** The root over sorted heads. The empty tree has a constant root. */
export function merkleRoot(seals: Digest, heads: readonly Head[]): Uint8Array {
  let level = heads.map((head) => headHash(seals, head))
  while (level.length > 1) level = pairsOf(level).map(([left, right]) => joined(seals, left, right))
  return level[0] ?? seals.digest(JSON.stringify(["signet audit no heads v1"]))
}

/** The proof that the head at this index is in the tree. */
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

/** Computes the root from a head and its proof. */
export const rootOf = (seals: Digest, head: Head, proof: readonly ProofStep[]): Uint8Array =>
  proof.reduce(
    (at, { hash, isLeft }) => (isLeft ? nodeHash(seals, hash, at) : nodeHash(seals, at, hash)),
    headHash(seals, head),
  )

/** Hashes two siblings. The last node of an odd level moves up unchanged. */
const joined = (seals: Digest, left: Uint8Array, right: Uint8Array | undefined): Uint8Array =>
  right === undefined ? left : nodeHash(seals, left, right)

function pairsOf(level: readonly Uint8Array[]): [Uint8Array, Uint8Array | undefined][] {
  return level.flatMap((left, i): [Uint8Array, Uint8Array | undefined][] => (i % 2 === 0 ? [[left, level[i + 1]]] : []))
}

/** Builds the claims of the next checkpoint. */
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

/** The target id of a checkpoint's audit event: its number and the hash of its statement. */
export const checkpointTarget = (seals: Digest, { number, jws }: Pick<Checkpoint, "number" | "jws">): string =>
  `${number}:${hex(seals.digest(jws))}`
