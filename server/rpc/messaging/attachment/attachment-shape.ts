// Maps attachments to contract messages.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { missingParts, partCount } from "@signet/kernel/messaging/attachment"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import { Attachment_Status, type AttachmentSchema } from "@signet/proto/messaging/v1/records"

export function attachmentShape(of: AttachmentRecord): MessageInitShape<typeof AttachmentSchema> {
  return {
    id: of.id,
    conversationId: of.conversationId,
    status: of.status === "COMPLETE" ? Attachment_Status.COMPLETE : Attachment_Status.UPLOADING,
    size: BigInt(of.size),
    sha256: of.sha256,
    partSize: of.partSize,
    partCount: partCount(of),
    missingParts: [...missingParts(of)],
    createdAt: timestampFromMs(of.createdAtMs),
    expiresAt: timestampFromMs(of.expiresAtMs),
  }
}
