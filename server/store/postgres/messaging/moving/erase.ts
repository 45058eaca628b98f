// Erases a moved place: attachments after their bytes, then conversations, then devices.
import type { PlaceMoves } from "@signet/kernel/messaging/moving"
import { type Database, run } from "../../sql.ts"
import { type Access, appendAudit, placeOf } from "../access.ts"
import { type AttachmentRow, attachmentColumns, attachmentOf } from "../attachments.ts"
import { lockPlace, requireState } from "./place.ts"

const conversationsAtOnce = 50
const devicesAtOnce = 200
const attachmentsAtOnce = 100

const columns = attachmentColumns.map((column) => `attachment.${column}`).join(", ")
const atPlace = "conversation.app_id = $1 and conversation.tenant_id = $2"
const nextText = `select ${columns} from attachment join conversation on conversation.id = attachment.conversation_id
where ${atPlace} and ($3::text is null or attachment.id > $3::text) order by attachment.id limit $4`
const byIdText = `select ${columns} from attachment join conversation on conversation.id = attachment.conversation_id
where ${atPlace} and attachment.id = any($3::text[]) order by attachment.id`
const forgetText = `delete from attachment using conversation
where conversation.id = attachment.conversation_id and ${atPlace} and attachment.id = any($3::text[])`
const conversationsText = `select id from conversation where ${atPlace} order by id limit ${conversationsAtOnce}`
const ofConversations = [
  "welcome",
  "welcome_commit",
  "tree",
  "group_info",
  "device_cursor",
  "conversation_log",
  "conversation_leaf",
  "conversation_asked",
  "claim",
].map((table) => `delete from ${table} where conversation_id = any($1::text[])`)
const devicesText = `select id from messaging_device where app_id = $1 and tenant_id = $2
order by id limit ${devicesAtOnce}`
const ofDevices = [
  `delete from claim where requester_device_id = any($1::text[])`,
  `delete from claim_package using key_package
   where key_package.ref = claim_package.ref and key_package.device_id = any($1::text[])`,
  ...[
    "key_package",
    "key_package_init_key",
    "proof_nonce",
    "revocation_effect",
    "messaging_device_key",
    "push_endpoint",
  ].map((table) => `delete from ${table} where device_id = any($1::text[])`),
  "delete from messaging_device where id = any($1::text[])",
]
/** The sweep erases their chunks and rows. */
const archivesText = `update archive_list set due_at = 'epoch', archives = (
  select coalesce(jsonb_agg(archive || '{"status": "DELETED"}'), '[]') from jsonb_array_elements(archives) archive
) where app_id = $1 and tenant_id = $2 and archives <> '[]'`
const blocksText = "delete from block_list where app_id = $1 and tenant_id = $2"
const listsText = "delete from device_list where app_id = $1 and tenant_id = $2 returning version"

export const erase =
  ({ transact }: Access): PlaceMoves["erase"] =>
  ({ place, transferId, bytesDeleted, audit }) =>
    transact(async (trx, log) => {
      const status = await lockPlace(trx, place)
      requireState(status, ["RECEIVING", "MOVED"], status.state === "MOVED" ? null : transferId)
      const of = placeOf(place)
      if (bytesDeleted.length > 0) await run(trx, forgetText, [...of, bytesDeleted])
      const rows = await run<AttachmentRow>(trx, nextText, [...of, null, attachmentsAtOnce])
      if (rows.length > 0) return rows.map(attachmentOf)
      if (
        await eraseAll(trx, conversationsText, of, [...ofConversations, "delete from conversation where id = any($1)"])
      )
        return []
      if (await eraseAll(trx, devicesText, of, ofDevices)) return []
      await run(trx, blocksText, of)
      await run(trx, archivesText, of)
      const lists = await run(trx, listsText, of)
      if (lists.length > 0) await appendAudit(log, [audit])
      return []
    })

/** @returns True if any were erased. */
async function eraseAll(
  trx: Database,
  find: string,
  of: readonly string[],
  texts: readonly string[],
): Promise<boolean> {
  const ids = (await run<{ id: string }>(trx, find, of)).map(({ id }) => id)
  if (ids.length === 0) return false
  for (const text of texts) await run(trx, text, [ids])
  return true
}

export const listAttachments = ({ ask }: Access): Pick<PlaceMoves, "attachments" | "attachmentsOf"> => ({
  async attachments(place, cursor) {
    const rows = await ask<AttachmentRow>(nextText, [...placeOf(place), cursor || null, attachmentsAtOnce])
    return { attachments: rows.map(attachmentOf), next: rows.at(attachmentsAtOnce - 1)?.id ?? null }
  },
  attachmentsOf: async (place, ids) => (await ask<AttachmentRow>(byIdText, [...placeOf(place), ids])).map(attachmentOf),
})
