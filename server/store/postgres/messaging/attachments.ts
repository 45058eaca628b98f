import type { AttachmentId, ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { Attachments } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import { at, bytes, type Database, run } from "../sql.ts"
import { type Access, appendAudit } from "./access.ts"
import { isClosedOf, lockGate } from "./moving/gates.ts"

export const attachmentColumns = [
  "id",
  "conversation_id",
  "owner_device_id",
  "owner_user_id",
  "status",
  "size",
  "sha256",
  "part_size",
  "parts",
  "idempotency_key",
  "created_at",
  "expires_at",
] as const

export interface AttachmentRow {
  id: AttachmentId
  conversation_id: ConversationId
  owner_device_id: DeviceId
  owner_user_id: PrincipalId
  status: AttachmentRecord["status"]
  size: number
  sha256: Uint8Array
  part_size: number
  parts: number[]
  idempotency_key: Uint8Array
  created_at: Date
  expires_at: Date
}

const insertText = `insert into attachment (${attachmentColumns.join(", ")}) values (${attachmentColumns.map((_, i) => `$${i + 1}`).join(", ")})
on conflict do nothing`
const findByKeyText = `select ${attachmentColumns.join(", ")} from attachment where owner_device_id = $1 and idempotency_key = $2`
const findText = `select ${attachmentColumns.join(", ")} from attachment where id = $1`
const addPartText = `update attachment
set parts = array(select part from unnest(parts) as part union select $2::integer order by 1)
where id = $1 and status = 'UPLOADING' and not ($2::integer = any(parts))`
const completeText = `update attachment set status = 'COMPLETE', expires_at = $2
where id = $1 and status = 'UPLOADING' and cardinality(parts)::bigint * part_size >= size returning id`
const deleteText = `update attachment set status = 'DELETED' where id = $1 and status <> 'DELETED' returning id`
const dueText = `select ${attachmentColumns.join(", ")} from attachment
where (status = 'DELETED' or expires_at <= $1) and not ${isClosedOf("attachment.conversation_id")}
order by expires_at, id limit $2`
const forgetText = "delete from attachment where id = $1"

export function attachments({ ask, transact }: Access): Attachments {
  return {
    create: (record) =>
      transact(async (trx) => {
        await lockGate(trx, "conversation", record.conversationId)
        await run(trx, insertText, valuesOf(record))
        const [row] = await run<AttachmentRow>(trx, findByKeyText, [record.ownerDeviceId, record.idempotencyKey])
        if (row === undefined) throw new Error("an attachment was not inserted")
        return attachmentOf(row)
      }),

    async find(id) {
      const [row] = await ask<AttachmentRow>(findText, [id])
      return row && attachmentOf(row)
    },

    addPart: (id, index) =>
      transact(async (trx) => {
        await lockGate(trx, "attachment", id)
        await run(trx, addPartText, [id, index])
        return find(trx, id)
      }),

    complete: (id, expiresAtMs, audit) =>
      transact(async (trx, log) => {
        await lockGate(trx, "attachment", id)
        const completed = await run(trx, completeText, [id, at(expiresAtMs)])
        if (completed.length > 0) await appendAudit(log, [audit])
        return find(trx, id)
      }),

    delete: (id, audit) =>
      transact(async (trx, log) => {
        await lockGate(trx, "attachment", id)
        const deleted = await run(trx, deleteText, [id])
        if (deleted.length > 0) await appendAudit(log, [audit])
      }),

    async due(nowMs, limit) {
      return (await ask<AttachmentRow>(dueText, [at(nowMs), limit])).map(attachmentOf)
    },

    forget: (id) =>
      transact(async (trx) => {
        await lockGate(trx, "attachment", id)
        await run(trx, forgetText, [id])
      }),
  }
}

async function find(trx: Database, id: AttachmentId): Promise<AttachmentRecord | undefined> {
  const [row] = await run<AttachmentRow>(trx, findText, [id])
  return row && attachmentOf(row)
}

export const attachmentOf = (row: AttachmentRow): AttachmentRecord => ({
  id: row.id,
  conversationId: row.conversation_id,
  ownerDeviceId: row.owner_device_id,
  ownerUserId: row.owner_user_id,
  status: row.status,
  size: row.size,
  sha256: bytes(row.sha256),
  partSize: row.part_size,
  parts: row.parts,
  idempotencyKey: bytes(row.idempotency_key),
  createdAtMs: row.created_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
})

const valuesOf = (record: AttachmentRecord): readonly unknown[] => [
  record.id,
  record.conversationId,
  record.ownerDeviceId,
  record.ownerUserId,
  record.status,
  record.size,
  record.sha256,
  record.partSize,
  record.parts,
  record.idempotencyKey,
  at(record.createdAtMs),
  at(record.expiresAtMs),
]
