// Welcomes in delivery: written with the commit, sent to the devices' objects, which store them and report their end.
import type { ConversationId, DeviceId, WelcomeId } from "@signet/kernel/ids"
import type { Conversation, Leaf, WelcomeRecord } from "@signet/kernel/messaging/records"
import type { SplitWelcome, VerifiedAppend, VerifiedCommit } from "@signet/kernel/messaging/verified"
import { listed, type Sql } from "../sql.ts"
import { checkTreesOf } from "./trees.ts"

const commitText = `insert into welcome_commit
  (commit_seq, epoch, tree_hash, receipt, proof, adder_device_id, created_at) values (?, ?, ?, ?, ?, ?, ?)`
const insertText = `insert into welcome (id, commit_seq, device_id, key_package_ref, status, welcome, expires_at)
values (?, ?, ?, ?, 'DUE', ?, ?)`
const findText = `select welcome.id, welcome.commit_seq, welcome.device_id, welcome.key_package_ref, welcome.welcome,
  welcome.expires_at, common.epoch, common.tree_hash, common.receipt, common.proof, common.adder_device_id,
  common.created_at
from welcome join welcome_commit common on common.commit_seq = welcome.commit_seq
where welcome.id = ? and welcome.status = 'DUE'`
const sentText = "update welcome set status = 'SENT', welcome = x'' where id = ? and status = 'DUE'"
const endText = `update welcome set status = 'ENDED', welcome = x''
where id in (select value from json_each(?)) and status <> 'ENDED' returning commit_seq`
const endOfText = `select id from welcome where device_id = ? and commit_seq < ? and status <> 'ENDED'`
const usedText = "select 1 as used from welcome where key_package_ref = ?"
const nextText = "select min(expires_at) as at from welcome"
const expiredText =
  "delete from welcome where id in (select id from welcome where expires_at <= ? limit 1000) returning commit_seq"
const orphanText = `delete from welcome_commit where commit_seq = ?
and not exists (select 1 from welcome where welcome.commit_seq = welcome_commit.commit_seq)`

/** Requires a transaction. */
export function writeWelcomes(
  sql: Sql,
  { welcomes, membership, state }: VerifiedCommit,
  of: { seq: bigint; epoch: bigint; receipt: Uint8Array; adder: VerifiedAppend["deviceId"]; atMs: number },
): void {
  if (welcomes.length === 0) return
  if (state.treeHash === null || membership === null) throw new Error("newcomers need a tree and a proof")
  sql.run(commitText, of.seq, of.epoch, state.treeHash, of.receipt, membership.proof, of.adder, of.atMs)
  for (const { id, deviceId, keyPackageRef, welcome, expiresAtMs } of welcomes satisfies readonly SplitWelcome[]) {
    sql.run(insertText, id, of.seq, deviceId, keyPackageRef, welcome, expiresAtMs)
  }
}

/** The record that the device's object stores; undefined after it was sent. */
export function dueWelcome(
  sql: Sql,
  { id: conversationId, mlsGroupId, kind }: Pick<Conversation, "id" | "mlsGroupId" | "kind">,
  id: WelcomeId,
): WelcomeRecord | undefined {
  interface Row {
    id: WelcomeId
    commit_seq: number
    device_id: DeviceId
    key_package_ref: Uint8Array
    welcome: Uint8Array
    expires_at: number
    epoch: number
    tree_hash: Uint8Array
    receipt: Uint8Array
    proof: Uint8Array
    adder_device_id: DeviceId
    created_at: number
  }
  const row = sql.row<Row>(findText, id)
  return (
    row && {
      id,
      deviceId: row.device_id,
      conversationId: conversationId satisfies ConversationId,
      mlsGroupId,
      conversationKind: kind,
      epoch: BigInt(row.epoch),
      commitSeq: BigInt(row.commit_seq),
      keyPackageRef: row.key_package_ref,
      welcome: row.welcome,
      treeHash: row.tree_hash,
      receipt: row.receipt,
      proof: row.proof,
      adderDeviceId: row.adder_device_id,
      status: "PENDING",
      consumedWithKey: null,
      createdAtMs: row.created_at,
      expiresAtMs: row.expires_at,
    }
  )
}

/** Erases the bytes of a welcome that the device's object has. */
export function markSent(sql: Sql, id: WelcomeId): void {
  sql.run(sentText, id)
}

/**
 * Requires a transaction. The welcomes were consumed or are void, so their trees become due for a check. Idempotent.
 */
export function endWelcomes(sql: Sql, ids: readonly WelcomeId[], nowMs: number): void {
  const rows = sql.rows<{ commit_seq: number }>(endText, listed(ids))
  for (const seq of new Set(rows.map((row) => row.commit_seq))) checkTreesOf(sql, seq, nowMs)
}

/** Requires a transaction. Voids the welcomes to leaves that the commit at `seq` removed. */
export function endWelcomesOf(sql: Sql, gone: readonly Pick<Leaf, "deviceId">[], seq: bigint, nowMs: number): void {
  const ids = gone.flatMap(({ deviceId }) => sql.rows<{ id: WelcomeId }>(endOfText, deviceId, seq))
  if (ids.length === 0) return
  endWelcomes(
    sql,
    ids.map(({ id }) => id),
    nowMs,
  )
}

/** True if one of these packages has added its owner before. */
export const wereUsed = (sql: Sql, refs: readonly Uint8Array[]): boolean =>
  refs.some((ref) => sql.row(usedText, ref) !== undefined)

export const nextWelcomeAtMs = (sql: Sql): number | null => sql.row<{ at: number | null }>(nextText)?.at ?? null

/** Requires a transaction. */
export function sweepWelcomes(sql: Sql, nowMs: number): void {
  const gone = sql.rows<{ commit_seq: number }>(expiredText, nowMs)
  for (const seq of new Set(gone.map((row) => row.commit_seq))) {
    checkTreesOf(sql, seq, nowMs)
    sql.run(orphanText, seq)
  }
}
