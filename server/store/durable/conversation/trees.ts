// Ratchet trees in chunks, and the GroupInfo of the newest epoch.
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { VerifiedCommit } from "@signet/kernel/messaging/verified"
import type { Sql } from "../sql.ts"

/** How long a replaced tree stays, so that a call that read the earlier epoch finds it and learns of the new one. */
const graceMs = 60_000

const groupInfoText = "insert or replace into group_info (k, epoch, info) values (1, ?, ?)"
const findGroupInfoText = "select epoch, info from group_info"
const replacedText = "update tree set check_at = ? where check_at is null and hash is not ?"
// A tree that is named again is as new: the sweep does not delete it before this commit ends.
const treeText = `insert into tree (hash, size) values (?, ?) on conflict (hash) do update set check_at = null`
const chunkText = "insert into tree_chunk (hash, position, chunk) values (?, ?, ?) on conflict do nothing"
const findText = `select size, substr(chunk, ? + 1) as chunk from tree
left join tree_chunk on tree_chunk.hash = tree.hash and position = ? where tree.hash = ?`
const nextText = "select min(check_at) as at from tree"
const dueText = "select hash from tree where check_at <= ? limit 100"
const namedText = `select max(welcome.expires_at) as until from welcome_commit
join welcome on welcome.commit_seq = welcome_commit.commit_seq and welcome.status <> 'ENDED'
where welcome_commit.tree_hash = ?`

/**
 * Requires a transaction. A resubmitted commit has no GroupInfo: the former one stays, because a pending welcome of an
 * earlier epoch is checked against it.
 */
export function writeGroupInfo(sql: Sql, epoch: bigint, info: VerifiedCommit["groupInfo"]): void {
  if (info !== null) sql.run(groupInfoText, epoch, info.bytes)
}

export function groupInfoOf(sql: Sql): { bytes: Uint8Array; epoch: bigint } | undefined {
  const row = sql.row<{ epoch: number; info: Uint8Array }>(findGroupInfoText)
  return row && { bytes: row.info, epoch: BigInt(row.epoch) }
}

/** Requires a transaction. Earlier trees become due for a check: a welcome may still need one. */
export function writeTree(sql: Sql, tree: VerifiedCommit["tree"], nowMs: number): void {
  sql.run(replacedText, nowMs + graceMs, tree?.hash ?? null)
  if (tree === null) return
  sql.run(treeText, tree.hash, tree.bytes.length)
  for (let position = 0; position * maxBytes.treeChunk < tree.bytes.length; position++) {
    const from = position * maxBytes.treeChunk
    sql.run(chunkText, tree.hash, position, tree.bytes.slice(from, from + maxBytes.treeChunk))
  }
}

export function treeChunk(sql: Sql, hash: Uint8Array, offset: number): { chunk: Uint8Array; size: number } | undefined {
  const { treeChunk: piece } = maxBytes
  const values = [offset % piece, Math.floor(offset / piece), hash] as const
  const row = sql.row<{ size: number; chunk: Uint8Array | null }>(findText, ...values)
  return row && { size: row.size, chunk: row.chunk ?? new Uint8Array() }
}

export const nextTreeAtMs = (sql: Sql): number | null => sql.row<{ at: number | null }>(nextText)?.at ?? null

/** Requires a transaction. A tree that a welcome needs is checked again when the welcome expires. */
export function sweepTrees(sql: Sql, nowMs: number): void {
  for (const { hash } of sql.rows<{ hash: Uint8Array }>(dueText, nowMs)) {
    const { until } = sql.row<{ until: number | null }>(namedText, hash) ?? { until: null }
    if (until !== null) {
      sql.run("update tree set check_at = ? where hash = ?", Math.max(until, nowMs + graceMs), hash)
      continue
    }
    sql.run("delete from tree_chunk where hash = ?", hash)
    sql.run("delete from tree where hash = ?", hash)
  }
}

/** Requires a transaction. Makes the tree due for a check that the commit's welcomes needed. */
export function checkTreesOf(sql: Sql, commitSeq: number, nowMs: number): void {
  sql.run(
    `update tree set check_at = ? where check_at is not null
      and hash = (select tree_hash from welcome_commit where commit_seq = ?)`,
    nowMs + graceMs,
    commitSeq,
  )
}
