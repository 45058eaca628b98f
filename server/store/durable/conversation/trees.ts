// Trees in pieces, and the GroupInfo of the newest epoch.
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { VerifiedCommit } from "@signet/kernel/messaging/verified"
import type { Sql } from "../sql.ts"

/** Whoever has read of an epoch that has passed meanwhile finds its tree, and so hears that it has passed. */
const graceMs = 60_000

const groupInfoText = "insert or replace into group_info (k, epoch, info) values (1, ?, ?)"
const findGroupInfoText = "select epoch, info from group_info"
const replacedText = "update tree set check_at = ? where check_at is null and hash is not ?"
// Named again it is as if it were new: the sweep does not take it from under this commit.
const treeText = `insert into tree (hash, size) values (?, ?) on conflict (hash) do update set check_at = null`
const chunkText = "insert into tree_chunk (hash, position, chunk) values (?, ?, ?) on conflict do nothing"
const findText = `select size, substr(chunk, ? + 1) as chunk from tree
left join tree_chunk on tree_chunk.hash = tree.hash and position = ? where tree.hash = ?`
const nextText = "select min(check_at) as at from tree"
const dueText = "select hash from tree where check_at <= ? limit 100"
const namedText = `select max(welcome.expires_at) as until from welcome_commit
join welcome on welcome.commit_seq = welcome_commit.commit_seq and welcome.status <> 'ENDED'
where welcome_commit.tree_hash = ?`

/** Inside a transaction. */
export function writeGroupInfo(sql: Sql, epoch: bigint, info: Uint8Array): void {
  sql.run(groupInfoText, epoch, info)
}

export function groupInfoOf(sql: Sql): { bytes: Uint8Array; epoch: bigint } | undefined {
  const row = sql.row<{ epoch: number; info: Uint8Array }>(findGroupInfoText)
  return row && { bytes: row.info, epoch: BigInt(row.epoch) }
}

/** Inside a transaction. The trees before are looked at again: a welcome may still name one. */
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

/** Inside a transaction. Those that a welcome names stay until it ends: they are looked at when it does. */
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

/** Inside a transaction: has the tree looked at that the welcomes of the commit named. */
export function checkTreesOf(sql: Sql, commitSeq: number, nowMs: number): void {
  sql.run(
    `update tree set check_at = ? where check_at is not null
      and hash = (select tree_hash from welcome_commit where commit_seq = ?)`,
    nowMs + graceMs,
    commitSeq,
  )
}
