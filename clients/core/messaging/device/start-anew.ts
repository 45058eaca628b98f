import { create } from "@bufbuild/protobuf"
import { ConversationRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import type { Context, Conversation } from "../context.ts"
import { isMessagingError } from "../errors.ts"
import { isTampered } from "../state/bind-records.ts"
import { deviceSpace } from "../store/store.ts"
import { becomeDevice } from "./binding.ts"
import { writeDeviceRows } from "./device-rows.ts"

/** Replaces this device if it was revoked. An active device stays. */
export async function startAnew(context: Context): Promise<void> {
  try {
    return await becomeDevice(context)
  } catch (error) {
    if (!isMessagingError(error, "DEVICE_ENDED")) throw error
  }
  await context.device.mark({ givesWay: true })
  await giveWay(context)
}

/**
 * Continues an interrupted replacement. It deletes the old device's group states and key packages, and keeps timelines
 * and unsent messages. Each conversation waits until other members add the new device.
 */
export async function giveWay(context: Context): Promise<void> {
  const { store, device } = context
  for (const id of await store.spaces()) {
    if (id !== deviceSpace) await giveUpState(context.conversation(id))
  }
  const keyPackages = await store.list(deviceSpace, "keyPackage")
  const gone = keyPackages.map(({ key }) => ({ op: "remove", table: "keyPackage", key }) as const)
  if (gone.length > 0) await writeDeviceRows(context, gone)
  await device.drop()
  await becomeDevice(context)
}

async function giveUpState(conversation: Pick<Conversation, "change">): Promise<void> {
  try {
    await conversation.change(async ({ record, local, staged }) => {
      if (record === undefined) return { result: undefined }
      const isOver = record.status === Status.LEAVING || record.status === Status.REMOVED
      const status = isOver ? Status.REMOVED : Status.WAITING
      if (local === undefined && staged === undefined && record.status === status) return { result: undefined }
      const { pendingConsume: _, quarantine: __, ...kept } = record
      // A later welcome must be for a position after everything that was read.
      const joinedSeq = local !== undefined && local.processedSeq > kept.joinedSeq ? local.processedSeq : kept.joinedSeq
      const waiting = create(ConversationRecordSchema, { ...kept, status, joinedSeq })
      return { next: { record: waiting, local: undefined, staged: undefined }, result: undefined }
    })
  } catch (error) {
    // The conversation stays unchanged, and fails when it is opened.
    if (!isTampered(error)) throw error
  }
}
