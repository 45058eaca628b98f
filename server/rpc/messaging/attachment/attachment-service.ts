// Ciphertext that is too large for a message: stored in parts, and readable by the members of its conversation.
import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { idOf } from "@signet/kernel/ids"
import { blobKey, isGone, isSameAttachment } from "@signet/kernel/messaging/attachment"
import { lifetimeMs, maxBytes } from "@signet/kernel/messaging/limits"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import type { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { seen, unresolved } from "../conversation/seen.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { conversationEvent } from "../events.ts"
import { limitExceeded } from "../refusing.ts"
import { formerAttachment, ownAttachment, readableAttachment, sizeOfPart } from "./attachment-access.ts"
import { completeAttachment } from "./attachment-complete.ts"
import { attachmentShape } from "./attachment-shape.ts"

export function attachmentService(deps: MessagingDeps): ServiceImpl<typeof AttachmentService> {
  const { blobs, clock, random } = deps
  const { attachments } = deps.store
  return {
    async createAttachment({ conversationId, size, sha256, idempotencyKey }, context) {
      const device = deviceOf(context)
      const conversation = await seen(deps, context, conversationId)
      if (!conversation.roster.some(({ deviceId }) => deviceId === device.id)) throw new Refused("NOT_MEMBER")
      if (size > BigInt(maxBytes.attachment)) throw limitExceeded("attachment_bytes", maxBytes.attachment)
      await counted(deps, context, "messaging_attachment", { device: device.id })
      const nowMs = clock.nowMs()
      const wanted: AttachmentRecord = {
        id: idOf("att", random.bytes(16)),
        conversationId: conversation.id,
        ownerDeviceId: device.id,
        ownerUserId: device.userId,
        status: "UPLOADING",
        size: Number(size),
        sha256,
        partSize: maxBytes.attachmentPart,
        parts: [],
        idempotencyKey,
        createdAtMs: nowMs,
        expiresAtMs: nowMs + lifetimeMs.upload,
      }
      const made = await attachments.create(wanted)
      if (!isSameAttachment(made, wanted)) throw new Refused("IDEMPOTENCY_MISMATCH")
      if (isGone(made, nowMs)) throw unresolved()
      return { attachment: attachmentShape(made) }
    },

    async uploadPart({ attachmentId, index, data }, context) {
      const record = await ownAttachment(deps, context, attachmentId)
      if (record.status === "COMPLETE") throw new Refused("ATTACHMENT_COMPLETE")
      if (data.length !== sizeOfPart(record, index)) {
        throw new Refused("INVALID_FIELD", {
          message: "data has the wrong size for this part",
          metadata: { field: "data" },
        })
      }
      await countPart(context)
      await blobs.put(blobKey(record, index), data)
      const added = await attachments.addPart(record.id, index)
      if (added === undefined || added.status === "DELETED") {
        // The attachment was deleted meanwhile: no sweep would find these bytes again.
        await blobs.delete(blobKey(record, index))
        throw unresolved()
      }
      return { attachment: attachmentShape(added) }
    },

    async presignPart({ attachmentId, index }, context) {
      const record = await ownAttachment(deps, context, attachmentId)
      if (record.status === "COMPLETE") throw new Refused("ATTACHMENT_COMPLETE")
      const size = sizeOfPart(record, index)
      await countPart(context)
      return { url: (await blobs.presign("PUT", blobKey(record, index), size)) ?? "" }
    },

    async completeAttachment({ attachmentId }, context) {
      const record = await ownAttachment(deps, context, attachmentId)
      return { attachment: attachmentShape(await completeAttachment(deps, context, record)) }
    },

    async getAttachment({ attachmentId }, context) {
      return { attachment: attachmentShape(await readableAttachment(deps, context, attachmentId)) }
    },

    async downloadPart({ attachmentId, index, acceptUrl }, context) {
      const record = await readableAttachment(deps, context, attachmentId)
      const size = sizeOfPart(record, index)
      if (record.status !== "COMPLETE") throw new Refused("ATTACHMENT_INCOMPLETE")
      const key = blobKey(record, index)
      const url = acceptUrl ? await blobs.presign("GET", key, size) : undefined
      if (url !== undefined) return { url }
      const data = await blobs.get(key)
      if (data?.length !== size)
        throw new Refused("UNAVAILABLE", { cause: new Error("a stored part is missing or has the wrong size") })
      return { data }
    },

    async deleteAttachment({ attachmentId }, context) {
      const record = await formerAttachment(deps, context, attachmentId)
      const place = deviceOf(context)
      const about = { id: record.conversationId, appId: place.appId, tenantId: place.tenantId }
      await attachments.delete(
        record.id,
        conversationEvent(deps, context, about, clock.nowMs(), {
          kind: "attachment.deleted",
          target: { type: "attachment", id: record.id },
        }),
      )
      return {}
    },
  }

  function countPart(context: Parameters<typeof deviceOf>[0]): Promise<void> {
    const { id, userId } = deviceOf(context)
    return counted(deps, context, "messaging_part", { device: id, user: userId })
  }
}
