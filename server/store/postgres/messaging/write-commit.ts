import type { ConversationId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { Leaf } from "@signet/kernel/messaging/records"
import type { VerifiedCommit } from "@signet/kernel/messaging/verified"
import { commitMarker } from "../batched-query.ts"
import { type Database, run } from "../sql.ts"
import { buffers } from "./access.ts"
import type { CommitWrite } from "./commit-write.ts"
import { changedColumns, changedValues, pruneAt } from "./conversation-rows.ts"
import { voidWelcomes, writeWelcomes } from "./write-welcomes.ts"

const endLeavesText = `update conversation_leaf set to_seq = $2
where conversation_id = $1 and to_seq is null and device_id = any($3::text[])`
const addLeavesText = `insert into conversation_leaf
  (conversation_id, from_seq, device_id, leaf_index, user_id, credential_hash, joined_epoch)
select $1::text, $2::bigint, new.* from unnest($3::text[], $4::integer[], $5::text[], $6::bytea[], $7::bigint[]) as new`
const forgetAskedText = "delete from conversation_asked where conversation_id = $1"
// All that every commit writes, in one statement. A tree that is named again is as new: the sweep does not delete it before
// this commit ends.
const commitText = `with changed as (
  update conversation set ${changedColumns}, prune_at = ${pruneAt("$5::timestamptz")} where id = $1 returning id
), logged as (
  insert into conversation_log
    (conversation_id, seq, epoch, kind, message, content_hash, sender_device_id, idempotency_key, accepted_at, receipt)
  select id, $4::bigint, $14::bigint, 'COMMIT', $15::bytea, $16::bytea, $17::text, $18::bytea, $5::timestamptz, $19::bytea
  from changed
), renewed as (
  update conversation_leaf leaf set credential_hash = new.hash
  from unnest($20::text[], $21::bytea[]) as new (device_id, hash)
  where leaf.conversation_id = $1 and leaf.to_seq is null and leaf.device_id = new.device_id
), informed as (
  insert into group_info (conversation_id, epoch, info)
  select id, $3::bigint, $22::bytea from changed where $22::bytea is not null
  on conflict (conversation_id) do update set epoch = excluded.epoch, info = excluded.info
), replaced as (
  update tree set check_at = $5 where conversation_id = $1 and check_at is null and hash is distinct from $23::bytea
), planted as (
  insert into tree (conversation_id, hash, size)
  select id, $23::bytea, $24::bigint from changed where $23::bytea is not null
  on conflict (conversation_id, hash) do update set check_at = null
)
insert into tree_chunk (conversation_id, hash, index, chunk)
select id, $23::bytea, 0, $25::bytea from changed where $25::bytea is not null on conflict do nothing`
const wholeCommitText = commitMarker + commitText
const chunkText = `insert into tree_chunk (conversation_id, hash, index, chunk) values ($1, $2, $3, $4)
on conflict do nothing`

/** @param isLast True if the transaction writes nothing else: then it is committed with the last statement. */
export async function writeCommit(trx: Database, write: CommitWrite, isLast: boolean): Promise<void> {
  const { before, after, append, commit, decision, receipt } = write
  const leaves = changeOf(before.roster, commit.roster)
  const isWhole = isLast && isOneStatement(write, leaves)
  await run(trx, isWhole ? wholeCommitText : commitText, [
    ...changedValues(after),
    append.epoch,
    append.message,
    append.contentHash,
    append.deviceId,
    append.idempotencyKey,
    receipt,
    leaves.renewed.map(({ deviceId }) => deviceId),
    buffers(leaves.renewed.map(({ credentialHash }) => credentialHash)),
    // A pending welcome of an earlier epoch is checked against the newest GroupInfo, also after a resubmitted commit.
    commit.groupInfo?.bytes ?? null,
    commit.tree?.hash ?? null,
    commit.tree?.bytes.length ?? null,
    commit.tree?.bytes.subarray(0, maxBytes.treeChunk) ?? null,
  ])
  if (isWhole) return
  await writeLeaves(trx, before.id, leaves, decision.seq)
  if (before.epoch === 0n) await run(trx, forgetAskedText, [before.id])
  if (commit.tree !== null) await writeFurtherChunks(trx, before.id, commit.tree)
  await writeWelcomes(trx, write)
}

const isOneStatement = ({ before, commit }: CommitWrite, { added, gone }: LeafChange): boolean =>
  added.length + gone.length + commit.welcomes.length === 0 &&
  before.epoch !== 0n &&
  (commit.tree?.bytes.length ?? 0) <= maxBytes.treeChunk

/** The leaves that a commit adds, ends, and gives another credential. */
interface LeafChange {
  readonly added: readonly Leaf[]
  readonly gone: readonly Leaf[]
  readonly renewed: readonly Leaf[]
}

function changeOf(before: readonly Leaf[], roster: readonly Leaf[]): LeafChange {
  const was = new Map(before.map((leaf) => [leaf.deviceId, leaf]))
  const isSame = (a: Leaf | undefined, b: Leaf) => a?.leafIndex === b.leafIndex && a.joinedEpoch === b.joinedEpoch
  const staying = roster.filter((leaf) => isSame(was.get(leaf.deviceId), leaf))
  const stays = new Set(staying.map(({ deviceId }) => deviceId))
  return {
    added: roster.filter(({ deviceId }) => !stays.has(deviceId)),
    gone: before.filter(({ deviceId }) => !stays.has(deviceId)),
    renewed: staying.filter(({ deviceId, credentialHash }) => {
      const old = was.get(deviceId)
      return old !== undefined && !equalBytes(old.credentialHash, credentialHash)
    }),
  }
}

async function writeLeaves(trx: Database, id: ConversationId, { added, gone }: LeafChange, seq: bigint): Promise<void> {
  const goneIds = gone.map(({ deviceId }) => deviceId)
  if (gone.length > 0) {
    await run(trx, endLeavesText, [id, seq, goneIds])
    await voidWelcomes(trx, id, goneIds)
  }
  if (added.length === 0) return
  await run(trx, addLeavesText, [
    id,
    seq,
    added.map(({ deviceId }) => deviceId),
    added.map(({ leafIndex }) => leafIndex),
    added.map(({ userId }) => userId),
    buffers(added.map(({ credentialHash }) => credentialHash)),
    added.map(({ joinedEpoch }) => joinedEpoch),
  ])
}

async function writeFurtherChunks(
  trx: Database,
  id: ConversationId,
  { hash, bytes }: NonNullable<VerifiedCommit["tree"]>,
): Promise<void> {
  for (let index = 1; index * maxBytes.treeChunk < bytes.length; index++) {
    const chunk = bytes.subarray(index * maxBytes.treeChunk, (index + 1) * maxBytes.treeChunk)
    await run(trx, chunkText, [id, hash, index, chunk])
  }
}
