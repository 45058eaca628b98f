// The hash chain of audit events: each link holds the hash of its event and of the previous link. One process at a time
// links events shortly after they are written, so sign-ins do not wait for each other.

import type { AuditCrypto } from "./crypto.ts"
import { type AuditRow, hex, rowText } from "./row.ts"

/** One position in a chain. */
export interface AuditLink {
  readonly shard: string
  /** From 1, without gaps. */
  readonly seq: bigint
  readonly eventId: string
  /** SHA-256 of `rowText`. */
  readonly eventHash: Uint8Array
  readonly linkedAtMs: number
  /** SHA-256 over this link's fields and the previous link's hash. */
  readonly hash: Uint8Array
}

/** The last link of a chain. */
export interface Head {
  readonly shard: string
  readonly seq: bigint
  readonly hash: Uint8Array
}

/** The head of an empty chain. */
export const origin = (shard: string): Head => ({ shard, seq: 0n, hash: new Uint8Array(32) })

type Digest = Pick<AuditCrypto, "digest">

export const eventHash = ({ digest }: Digest, row: AuditRow): Uint8Array => digest(rowText(row))

/** The hash of the link that follows `after`. */
export function linkHash({ digest }: Digest, after: Head, link: Omit<AuditLink, "hash" | "shard" | "seq">): Uint8Array {
  const { eventId, eventHash: ofEvent, linkedAtMs } = link
  const seq = (after.seq + 1n).toString()
  return digest(
    JSON.stringify(["signet audit link v1", after.shard, seq, hex(after.hash), eventId, hex(ofEvent), linkedAtMs]),
  )
}

/** Creates the link that appends an event to the chain. */
export function nextLink(seals: Digest, after: Head, row: AuditRow, linkedAtMs: number): AuditLink {
  const link = { eventId: row.id, eventHash: eventHash(seals, row), linkedAtMs }
  return { ...link, shard: after.shard, seq: after.seq + 1n, hash: linkHash(seals, after, link) }
}
