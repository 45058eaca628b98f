import { Refused } from "@signet/kernel/errors"
import type { PlaceMoves, StoredRecord } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { type Database, run } from "../../sql.ts"
import { type Access, isTaken, placeOf } from "../access.ts"
import { importBackups } from "./backups.ts"
import type { RecordOf } from "./insert.ts"
import { lockPlace, requireState } from "./place.ts"
import { into } from "./tables.ts"

const devicesText = `select count(*) as count from messaging_device
where id = any($3::text[]) and app_id = $1 and tenant_id = $2`
const conversationsText = `select count(*) as count from conversation
where id = any($3::text[]) and app_id = $1 and tenant_id = $2`
const groupKeyText = `update conversation set creator_device_id = $2, creator_key = $3, request_hash = $4
where id = $1 and kind = 'GROUP'`
const currentTreesText = `update tree set check_at = null from conversation
where tree.conversation_id = any($1::text[]) and conversation.id = tree.conversation_id
  and conversation.tree_hash = tree.hash and tree.check_at is not null`

export const importPage =
  ({ transact }: Access): PlaceMoves["importPage"] =>
  ({ place, transferId, records }) =>
    transact(async (trx) => {
      requireState(await lockPlace(trx, place), ["RECEIVING"], transferId)
      await insertAll(trx, place, records)
    }).catch((error: unknown) => {
      // A referenced record is missing, such as the key package of a claim.
      if (isTaken(error) || isUnnamed(error)) throw invalid(error)
      throw error
    })

/** SQLSTATE 23503: a referenced record is missing. 23514: a value violates a check. */
const isUnnamed = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "23503" || error.code === "23514")

const invalid = (cause?: unknown): Refused =>
  new Refused("INVALID_FIELD", {
    message: "a record belongs to another scope, or refers to a missing record",
    metadata: { field: "records" },
    cause,
  })

async function insertAll(trx: Database, place: Place, records: readonly StoredRecord[]): Promise<void> {
  const of = <Is extends StoredRecord["is"]>(is: Is) =>
    records.filter((record): record is RecordOf<Is> => record.is === is)
  const placed = <Row>(rows: readonly Row[]) => rows.map((record) => ({ place, record }))

  const devices = of("device")
  await into.device(trx, placed(devices))
  await into.leafKeys(
    trx,
    devices.flatMap((one) => one.leafKeys.map((leafKey) => ({ leafKey, deviceId: one.device.id }))),
  )
  await into.effects(
    trx,
    devices.flatMap((one) => (one.isRevocationDue ? [one.device] : [])),
  )
  await into.deviceList(trx, placed(of("deviceList")))
  await into.blockList(trx, placed(of("blockList")))
  const conversations = of("conversation")
  await into.conversation(trx, placed(conversations))
  // Checked before anything is inserted: an existing id stays with its owner.
  await requireOwn(trx, devicesText, place, records.flatMap(deviceNamedIn))
  await requireOwn(trx, conversationsText, place, records.flatMap(conversationNamedIn))

  await into.proofNonce(trx, of("proofNonce"))
  await into.keyPackage(
    trx,
    of("keyPackage").map((one) => one.keyPackage),
  )
  await into.initKey(trx, of("initKey"))
  await into.asked(
    trx,
    conversations.flatMap(({ conversation: { id, epoch, userIds } }) =>
      epoch === 0n ? [...new Set(userIds)].map((userId) => ({ conversationId: id, userId })) : [],
    ),
  )
  for (const { deviceId, key, requestHash, conversationId } of of("groupKey")) {
    await run(trx, groupKeyText, [conversationId, deviceId, key, requestHash])
  }
  await into.leaf(trx, of("leaf"))
  await into.envelope(trx, of("envelope"))
  await into.groupInfo(trx, of("groupInfo"))
  const chunks = of("treeChunk")
  await into.tree(trx, chunks)
  await into.treeChunk(trx, chunks)
  if (chunks.length > 0) await run(trx, currentTreesText, [chunks.map((one) => one.conversationId)])
  await into.cursor(trx, of("cursor"))
  const welcomes = of("welcome").map((one) => one.welcome)
  await into.welcomeCommit(trx, welcomes)
  await into.welcome(trx, welcomes)
  const claims = of("claim")
  await into.claim(
    trx,
    claims.map((one) => one.claim),
  )
  await into.claimPackage(
    trx,
    claims.flatMap(({ claim: { id: claimId, requesterDeviceId }, packages }) =>
      packages.map(({ ref }) => ({ requesterDeviceId, claimId, ref })),
    ),
  )
  await into.attachment(
    trx,
    of("attachment").map((one) => one.attachment),
  )
  await importBackups(trx, place, of("backup"))
}

async function requireOwn(trx: Database, text: string, place: Place, ids: readonly string[]): Promise<void> {
  const distinct = [...new Set(ids)]
  if (distinct.length === 0) return
  const [row] = await run<{ count: number }>(trx, text, [...placeOf(place), distinct])
  if (row?.count !== distinct.length) throw invalid()
}

/** The devices of keys, packages and welcomes. */
function deviceNamedIn(record: StoredRecord): readonly string[] {
  switch (record.is) {
    case "device":
      return [record.device.id]
    case "keyPackage":
      return [record.keyPackage.deviceId]
    case "welcome":
      return [record.welcome.deviceId]
    case "claim":
      return [record.claim.requesterDeviceId]
    case "groupKey":
    case "proofNonce":
    case "initKey":
    case "leaf":
    case "cursor":
      return [record.is === "leaf" ? record.leaf.deviceId : record.deviceId]
    default:
      return []
  }
}

function conversationNamedIn(record: StoredRecord): readonly string[] {
  switch (record.is) {
    case "conversation":
      return [record.conversation.id]
    case "groupKey":
    case "leaf":
    case "envelope":
    case "groupInfo":
    case "treeChunk":
    case "cursor":
      return [record.conversationId]
    case "welcome":
      return [record.welcome.conversationId]
    case "attachment":
      return [record.attachment.conversationId]
    default:
      return []
  }
}
