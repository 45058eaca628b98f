// Maps conversations, envelopes and directives to contract messages.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { DeviceId } from "@signet/kernel/ids"
import type * as kernel from "@signet/kernel/messaging/records"
import {
  Conversation_Status,
  ConversationKind,
  type ConversationSchema,
  Directive_Status,
  DirectiveKind,
  type DirectiveSchema,
  Envelope_Kind,
  type EnvelopeSchema,
  type MemberSchema,
} from "@signet/proto/messaging/v1/records"

const none = new Uint8Array()

/** A conversation with its members. @param cursor The calling device's. */
export function conversationShape(
  of: kernel.Conversation,
  cursor: kernel.Cursor | undefined,
): MessageInitShape<typeof ConversationSchema> {
  const isAsked = of.kind === "DIRECT" || of.epoch === 0n
  return {
    id: of.id,
    mlsGroupId: of.mlsGroupId,
    kind: ConversationKind[of.kind],
    status: Conversation_Status[of.status],
    appId: of.appId,
    tenantId: of.tenantId ?? "",
    creatorUserId: of.creatorUserId,
    epoch: of.epoch,
    headSeq: of.headSeq,
    stateTag: of.state?.stateTag ?? none,
    receiptHead: of.state?.receiptHash ?? none,
    members: of.roster.map(memberShape),
    userIds: isAsked ? [...of.userIds] : [],
    cursor: cursor ?? {},
    directives: of.directives.map(directiveShape),
    createdAt: timestampFromMs(of.createdAtMs),
  }
}

const memberShape = (of: kernel.Leaf): MessageInitShape<typeof MemberSchema> => ({
  leafIndex: of.leafIndex,
  deviceId: of.deviceId,
  userId: of.userId,
  credentialHash: of.credentialHash,
  joinedEpoch: of.joinedEpoch,
})

export const directiveShape = (of: kernel.Directive): MessageInitShape<typeof DirectiveSchema> => ({
  id: of.id,
  kind: DirectiveKind[of.kind],
  status: Directive_Status[of.status],
  userId: of.userId,
  deviceId: of.deviceId ?? "",
  issuedAt: timestampFromMs(of.issuedAtMs),
  ...(of.lease === null ? {} : { leasedTo: of.lease.deviceId, leasedUntil: timestampFromMs(of.lease.untilMs) }),
})

/** Only the sending device sees the idempotency key. */
export const envelopeShape = (of: kernel.Envelope, reader: DeviceId): MessageInitShape<typeof EnvelopeSchema> => ({
  seq: of.seq,
  epoch: of.epoch,
  kind: Envelope_Kind[of.kind],
  message: of.message,
  contentHash: of.contentHash,
  senderDeviceId: of.senderDeviceId,
  acceptedAt: timestampFromMs(of.acceptedAtMs),
  receipt: of.receipt ?? none,
  idempotencyKey: of.senderDeviceId === reader ? of.idempotencyKey : none,
})
