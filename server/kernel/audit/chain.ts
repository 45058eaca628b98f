// The chain: each link holds the hash of its event and of the link before it. Links are made moments after the events, by
// one process at a time, so that no sign-in waits for another's.
import { type AuditRow, hex, rowText } from "./row.ts"
import type { AuditSeals } from "./seals.ts"

/** A place in a chain. */
export interface AuditLink {
  readonly shard: string
  /** From 1, without gaps. */
  readonly seq: bigint
  readonly eventId: string
  /** SHA-256 of the row's text. */
  readonly eventHash: Uint8Array
  readonly linkedAtMs: number
  /** SHA-256 of the link's text, which holds the hash of the link before. */
  readonly hash: Uint8Array
}

/** Where a chain ends. */
export interface Head {
  readonly shard: string
  readonly seq: bigint
  readonly hash: Uint8Array
}

/** What the first link follows. */
export const origin = (shard: string): Head => ({ shard, seq: 0n, hash: new Uint8Array(32) })

type Digest = Pick<AuditSeals, "digest">

export const eventHash = ({ digest }: Digest, row: AuditRow): Uint8Array => digest(rowText(row))

/** The hash of what follows a head. */
export function linkHash({ digest }: Digest, after: Head, link: Omit<AuditLink, "hash" | "shard" | "seq">): Uint8Array {
  const { eventId, eventHash: ofEvent, linkedAtMs } = link
  const seq = (after.seq + 1n).toString()
  return digest(
    JSON.stringify(["signet audit link v1", after.shard, seq, hex(after.hash), eventId, hex(ofEvent), linkedAtMs]),
  )
}

/** The link of an event that follows a head. */
export function nextLink(seals: Digest, after: Head, row: AuditRow, linkedAtMs: number): AuditLink {
  const link = { eventId: row.id, eventHash: eventHash(seals, row), linkedAtMs }
  return { ...link, shard: after.shard, seq: after.seq + 1n, hash: linkHash(seals, after, link) }
}
