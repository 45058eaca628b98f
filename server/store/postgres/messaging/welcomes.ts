import type { ConversationId, DeviceId, WelcomeId } from "@signet/kernel/ids"
import type { Welcomes } from "@signet/kernel/messaging/ports"
import type { WelcomeRecord } from "@signet/kernel/messaging/records"
import { decideConsume } from "@signet/kernel/messaging/welcome"
import { at, bytes, bytesOrNull, type Database, run } from "../sql.ts"
import { type Access, appendAudit, buffers } from "./access.ts"
import { lockGate } from "./moving/gates.ts"
import { forgetTailText } from "./write-welcomes.ts"

export const welcomeColumns = `welcome.id, welcome.device_id, welcome.conversation_id, welcome.commit_seq, welcome.key_package_ref,
  welcome.head, welcome.status, welcome.consumed_with_key, welcome.created_at, welcome.expires_at,
  common.epoch, common.tail, common.tree_hash, common.receipt, common.proof, common.adder_device_id,
  conversation.mls_group_id, conversation.kind`
export const welcomeJoins = `join welcome_commit common
  on common.conversation_id = welcome.conversation_id and common.commit_seq = welcome.commit_seq
join conversation on conversation.id = welcome.conversation_id`
// The page is cut by the lengths before the bytes are read.
const listText = `select ${welcomeColumns}
from (
  select id as listed_id, place, sum(size) over (order by place) as total from (
    select welcome.id, row_number() over (order by welcome.created_at, welcome.id) as place,
      octet_length(head) + octet_length(tail) + octet_length(receipt) + octet_length(proof) as size
    from welcome join welcome_commit common
      on common.conversation_id = welcome.conversation_id and common.commit_seq = welcome.commit_seq
    where device_id = $1 and status = 'PENDING' and expires_at > $2
      and ($3::timestamptz is null or (created_at, welcome.id) > ($3::timestamptz, $4::text))
    order by welcome.created_at, welcome.id limit $5
  ) sized
) listed
join welcome on welcome.id = listed.listed_id ${welcomeJoins}
where listed.place = 1 or listed.total <= $6
order by listed.place`
const findText = `select ${welcomeColumns} from welcome ${welcomeJoins} where welcome.id = $1`
// Locks the commit's shared part too: of two concurrent consumptions, the last one knows that it is the last.
const lockText = `select 1 from welcome join welcome_commit common
  on common.conversation_id = welcome.conversation_id and common.commit_seq = welcome.commit_seq
where welcome.id = $1 for update`
const consumeText = `update welcome set status = 'CONSUMED', consumed_with_key = $2, head = '' where id = $1`
const findPendingText = `select ${welcomeColumns} from welcome ${welcomeJoins}
where device_id = $1 and welcome.conversation_id = $2 and welcome.status = 'PENDING'
order by welcome.commit_seq desc limit 1`
const usedText = `select 1 from welcome
where conversation_id = $1 and key_package_ref = any($2::bytea[]) limit 1`
const voidText = `update welcome set status = 'VOID', head = '' where device_id = $1 and status = 'PENDING'
returning conversation_id, commit_seq`

export interface WelcomeRow {
  id: WelcomeId
  device_id: DeviceId
  conversation_id: ConversationId
  commit_seq: number
  key_package_ref: Uint8Array
  head: Uint8Array
  status: WelcomeRecord["status"]
  consumed_with_key: Uint8Array | null
  created_at: Date
  expires_at: Date
  epoch: number
  tail: Uint8Array
  tree_hash: Uint8Array
  receipt: Uint8Array
  proof: Uint8Array
  adder_device_id: DeviceId
  mls_group_id: Uint8Array
  kind: WelcomeRecord["conversationKind"]
}

export function welcomes({ ask, transact }: Access): Welcomes {
  return {
    async listPending(deviceId, nowMs, { size, maxBytes, after }) {
      const from = after === null ? [null, null] : [at(after.createdAtMs), after.id]
      return (await ask<WelcomeRow>(listText, [deviceId, at(nowMs), ...from, size, maxBytes])).map(welcomeOf)
    },

    consume: (id, by, nowMs, audit) =>
      transact<Awaited<ReturnType<Welcomes["consume"]>>>(async (trx, log) => {
        await lockGate(trx, "welcome", id)
        await run(trx, lockText, [id])
        const welcome = await find(trx, id)
        const decision = decideConsume(welcome, by, nowMs)
        if (welcome === undefined || decision === "NOT_FOUND") return "NOT_FOUND"
        if (decision !== "consume") return decision === "again" ? welcome : decision
        await run(trx, consumeText, [id, by.key])
        await run(trx, forgetTailText, [[welcome.conversationId], [welcome.commitSeq]])
        await appendAudit(log, [audit])
        return { ...welcome, status: "CONSUMED", consumedWithKey: by.key, welcome: new Uint8Array() }
      }),

    async findPending(deviceId, conversationId) {
      const [row] = await ask<WelcomeRow>(findPendingText, [deviceId, conversationId])
      return row && welcomeOf(row)
    },

    async wereUsed(conversationId, keyPackageRefs) {
      return (await ask(usedText, [conversationId, buffers(keyPackageRefs)])).length > 0
    },

    voidAll: (deviceId) =>
      transact(async (trx) => {
        await lockGate(trx, "device", deviceId)
        const rows = await run<Pick<WelcomeRow, "conversation_id" | "commit_seq">>(trx, voidText, [deviceId])
        if (rows.length === 0) return
        await run(trx, forgetTailText, [rows.map((row) => row.conversation_id), rows.map((row) => row.commit_seq)])
      }),
  }
}

async function find(trx: Database, id: WelcomeId): Promise<WelcomeRecord | undefined> {
  const [row] = await run<WelcomeRow>(trx, findText, [id])
  return row && welcomeOf(row)
}

export const welcomeOf = (row: WelcomeRow): WelcomeRecord => ({
  id: row.id,
  deviceId: row.device_id,
  conversationId: row.conversation_id,
  mlsGroupId: bytes(row.mls_group_id),
  conversationKind: row.kind,
  epoch: BigInt(row.epoch),
  commitSeq: BigInt(row.commit_seq),
  keyPackageRef: bytes(row.key_package_ref),
  welcome: row.status === "PENDING" ? new Uint8Array(Buffer.concat([row.head, row.tail])) : new Uint8Array(),
  treeHash: bytes(row.tree_hash),
  receipt: bytes(row.receipt),
  proof: bytes(row.proof),
  adderDeviceId: row.adder_device_id,
  status: row.status,
  consumedWithKey: bytesOrNull(row.consumed_with_key),
  createdAtMs: row.created_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
})
