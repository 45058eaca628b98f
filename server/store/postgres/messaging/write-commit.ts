import { equalBytes } from "@signet/kernel/messaging/bytes"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { Conversation, Leaf } from "@signet/kernel/messaging/records"
import { at, type Database, run } from "../sql.ts"
import { buffers } from "./access.ts"
import type { CommitWrite } from "./commit-write.ts"
import { voidWelcomes, writeWelcomes } from "./write-welcomes.ts"

const endLeavesText = `update conversation_leaf set to_seq = $2
where conversation_id = $1 and to_seq is null and device_id = any($3::text[])`
const renewLeafText = `update conversation_leaf set credential_hash = $3
where conversation_id = $1 and to_seq is null and device_id = $2`
const addLeavesText = `insert into conversation_leaf
  (conversation_id, from_seq, device_id, leaf_index, user_id, credential_hash, joined_epoch)
select $1::text, $2::bigint, new.* from unnest($3::text[], $4::integer[], $5::text[], $6::bytea[], $7::bigint[]) as new`
const forgetAskedText = "delete from conversation_asked where conversation_id = $1"
const groupInfoText = `insert into group_info (conversation_id, epoch, info) values ($1, $2, $3)
on conflict (conversation_id) do update set epoch = excluded.epoch, info = excluded.info`
const replaceTreeText = `update tree set check_at = $3
where conversation_id = $1 and check_at is null and hash is distinct from $2`
// A tree that is named again is as new: the sweep does not delete it before this commit ends.
const treeText = `insert into tree (conversation_id, hash, size) values ($1, $2, $3)
on conflict (conversation_id, hash) do update set check_at = null`
const chunkText = `insert into tree_chunk (conversation_id, hash, index, chunk) values ($1, $2, $3, $4)
on conflict do nothing`

export async function writeCommit(trx: Database, write: CommitWrite): Promise<void> {
  const { before, commit, decision } = write
  await writeLeaves(trx, before, commit.roster, decision.seq)
  if (before.epoch === 0n) await run(trx, forgetAskedText, [before.id])
  // A pending welcome of an earlier epoch is checked against the newest GroupInfo, also after a resubmitted commit.
  if (commit.groupInfo !== null) {
    await run(trx, groupInfoText, [before.id, decision.nextEpoch, commit.groupInfo.bytes])
  }
  await writeTree(trx, write)
  await writeWelcomes(trx, write)
}

async function writeLeaves(trx: Database, before: Conversation, roster: readonly Leaf[], seq: bigint): Promise<void> {
  const was = new Map(before.roster.map((leaf) => [leaf.deviceId, leaf]))
  const isSame = (a: Leaf | undefined, b: Leaf) => a?.leafIndex === b.leafIndex && a.joinedEpoch === b.joinedEpoch
  const added = roster.filter((leaf) => !isSame(was.get(leaf.deviceId), leaf))
  const staying = roster.filter((leaf) => isSame(was.get(leaf.deviceId), leaf))
  const stays = new Set(staying.map(({ deviceId }) => deviceId))
  const gone = before.roster.filter(({ deviceId }) => !stays.has(deviceId)).map(({ deviceId }) => deviceId)
  if (gone.length > 0) {
    await run(trx, endLeavesText, [before.id, seq, gone])
    await voidWelcomes(trx, before.id, gone)
  }
  for (const leaf of staying) {
    const old = was.get(leaf.deviceId)
    if (old === undefined || equalBytes(old.credentialHash, leaf.credentialHash)) continue
    await run(trx, renewLeafText, [before.id, leaf.deviceId, leaf.credentialHash])
  }
  if (added.length === 0) return
  await run(trx, addLeavesText, [
    before.id,
    seq,
    added.map(({ deviceId }) => deviceId),
    added.map(({ leafIndex }) => leafIndex),
    added.map(({ userId }) => userId),
    buffers(added.map(({ credentialHash }) => credentialHash)),
    added.map(({ joinedEpoch }) => joinedEpoch),
  ])
}

async function writeTree(trx: Database, { before, commit: { tree }, decision }: CommitWrite): Promise<void> {
  await run(trx, replaceTreeText, [before.id, tree?.hash ?? null, at(decision.acceptedAtMs)])
  if (tree === null) return
  await run(trx, treeText, [before.id, tree.hash, tree.bytes.length])
  for (let index = 0; index * maxBytes.treeChunk < tree.bytes.length; index++) {
    const chunk = tree.bytes.subarray(index * maxBytes.treeChunk, (index + 1) * maxBytes.treeChunk)
    await run(trx, chunkText, [before.id, tree.hash, index, chunk])
  }
}
