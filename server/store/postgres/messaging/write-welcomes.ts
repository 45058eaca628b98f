// Stores the welcomes of a commit. All of them end with the same encrypted GroupInfo, which is stored once per commit.

import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import type { SplitWelcome } from "@signet/kernel/messaging/verified"
import { at, type Database, run } from "../sql.ts"
import { buffers } from "./access.ts"
import type { CommitWrite } from "./commit-write.ts"

/** Erases the shared tail of commits without a pending welcome. */
export const forgetTailText = `update welcome_commit common set tail = ''
where conversation_id = any($1::text[]) and commit_seq = any($2::bigint[]) and not exists (
  select 1 from welcome where welcome.conversation_id = common.conversation_id
    and welcome.commit_seq = common.commit_seq and welcome.status = 'PENDING')`

const commitText = `insert into welcome_commit
  (conversation_id, commit_seq, epoch, tail, tree_hash, receipt, proof, adder_device_id)
values ($1, $2, $3, $4, $5, $6, $7, $8)`
const welcomesText = `insert into welcome
  (conversation_id, commit_seq, status, created_at, id, device_id, key_package_ref, head, expires_at)
select $1::text, $2::bigint, 'PENDING', $3::timestamptz, new.*
from unnest($4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::timestamptz[]) as new`

const voidText = `update welcome set status = 'VOID', head = ''
where conversation_id = $1 and device_id = any($2::text[]) and status = 'PENDING' returning commit_seq`

/**
 * Voids the welcomes to removed leaves: a device that joined by one would miss the messages after it is added again.
 */
export async function voidWelcomes(trx: Database, id: ConversationId, deviceIds: readonly DeviceId[]): Promise<void> {
  const gone = await run<{ commit_seq: number }>(trx, voidText, [id, deviceIds])
  if (gone.length > 0) await run(trx, forgetTailText, [gone.map(() => id), gone.map((row) => row.commit_seq)])
}

export async function writeWelcomes(
  trx: Database,
  { before, append, commit, decision, receipt }: Omit<CommitWrite, "tree">,
): Promise<void> {
  const { welcomes, membership, state } = commit
  if (welcomes.length === 0) return
  if (state.treeHash === null || membership === null) throw new Error("newcomers need a tree and a proof")
  const shared = sharedTail(welcomes.map(({ welcome }) => welcome))
  const tail = welcomes[0]?.welcome.subarray(welcomes[0].welcome.length - shared)
  const { seq, nextEpoch, acceptedAtMs } = decision
  const common = [before.id, seq, nextEpoch, tail, state.treeHash, receipt, membership.proof, append.deviceId]
  await run(trx, commitText, common)
  await run(trx, welcomesText, [
    before.id,
    seq,
    at(acceptedAtMs),
    welcomes.map(({ id }) => id),
    welcomes.map(({ deviceId }) => deviceId),
    buffers(welcomes.map(({ keyPackageRef }) => keyPackageRef)),
    buffers(welcomes.map(({ welcome }) => welcome.subarray(0, welcome.length - shared))),
    welcomes.map(({ expiresAtMs }: SplitWelcome) => at(expiresAtMs)),
  ])
}

/**
 * The number of bytes that all welcomes end with alike; 0 for a single one. The shared bytes are not erased with a
 * welcome, so they must not contain bytes that are encrypted for one device.
 */
export function sharedTail([first, ...others]: readonly Uint8Array[]): number {
  if (first === undefined || others.length === 0) return 0
  let shared = first.length
  for (const other of others) {
    const tail = first.subarray(first.length - Math.min(shared, other.length))
    if (Buffer.compare(tail, other.subarray(other.length - tail.length)) === 0) {
      shared = tail.length
      continue
    }
    let same = 0
    while (first.at(-1 - same) === other.at(-1 - same)) same++
    shared = same
  }
  return shared
}
