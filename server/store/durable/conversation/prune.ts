// The pruning of a conversation's log.
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { Sql } from "../sql.ts"
import type { Head } from "./head.ts"

const day = 86_400_000

// A member that is behind keeps the log from its first unprocessed message, at the earliest from the commit that added
// it.
const lastText = `select min(
    (select max(seq) from log where kind = 'COMMIT') - 1,
    (select min(max(leaf.from_seq, coalesce(cursor.processed_seq, 0)))
      from leaf left join cursor on cursor.device_id = leaf.device_id where leaf.to_seq is null),
    coalesce((select min(seq) from log where accepted_at > ?1) - 1, 9007199254740991),
    (select max(seq) from (select seq from log order by seq limit ?2))
  ) as last`
const noMembersText = `select min(
    (select max(seq) from log where kind = 'COMMIT') - 1,
    coalesce((select min(seq) from log where accepted_at > ?1) - 1, 9007199254740991),
    (select max(seq) from (select seq from log order by seq limit ?2))
  ) as last`

/**
 * Deletes the envelopes that are past the retention and behind every cursor, but never the newest commit. A member that
 * is behind keeps its unread messages: the log is due again a day later. Requires a transaction.
 *
 * @returns The number of deleted envelopes.
 */
export function prune(sql: Sql, head: Head, nowMs: number, limit: number): number {
  const kept = head.get()
  if (kept?.pruneAtMs === undefined || kept.pruneAtMs === null || kept.pruneAtMs > nowMs) return 0
  const { conversation } = kept
  const boundText = conversation.roster.length > 0 ? lastText : noMembersText
  const bound = sql.row<{ last: number | null }>(boundText, nowMs - lifetimeMs.log, limit)
  const was = Number(conversation.firstSeq)
  const first = Math.max(was, (bound?.last ?? 0) + 1)
  if (first > was) sql.run("delete from log where seq < ?", first)
  const isMore = first - was === limit
  const oldest = sql.row<{ accepted_at: number }>("select accepted_at from log where seq = ?", first)
  const nextMs = Math.max(nowMs + day, (oldest?.accepted_at ?? 0) + lifetimeMs.log)
  head.write({
    ...kept,
    conversation: { ...conversation, firstSeq: BigInt(first) },
    pruneAtMs: isMore ? nowMs : nextMs,
  })
  return first - was
}
