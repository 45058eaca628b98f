// Maps the kernel's records to contract records.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { chunkNames } from "@signet/kernel/messaging/archive"
import { fromHex } from "@signet/kernel/messaging/bytes"
import type { TransferRecord, UserBackup } from "@signet/kernel/messaging/moving"
import type { Conversation, Directive, ForkReport } from "@signet/kernel/messaging/records"
import {
  AttachmentStatus,
  type BackupSchema,
  type ConversationSchema,
  ConversationStatus,
  DirectiveKind,
  type DirectiveSchema,
  ForkFault,
  type ForkReportSchema,
  KeyPackageStatus,
  type Record,
  RecordSchema,
  WelcomeStatus,
} from "@signet/proto/transfer/v1/records"

const ms = (time: number): bigint => BigInt(time)
const msOrNone = (time: number | null) => (time === null ? undefined : BigInt(time))
const orNone = <T>(value: T | null): T | undefined => value ?? undefined
const attachmentStatus = {
  UPLOADING: AttachmentStatus.UPLOADING,
  COMPLETE: AttachmentStatus.COMPLETE,
  DELETED: AttachmentStatus.DELETED,
}

export const recordShape = (of: TransferRecord): Record => create(RecordSchema, { kind: kindOf(of) })

function kindOf(of: TransferRecord): MessageInitShape<typeof RecordSchema>["kind"] {
  switch (of.is) {
    case "device": {
      const { device } = of
      return {
        case: "device",
        value: {
          id: device.id,
          userId: device.userId,
          isRevoked: device.status === "REVOKED",
          leafKey: device.leafKey,
          previousLeafKey: device.previousKey?.leafKey,
          previousExpiresAtMs: msOrNone(device.previousKey?.expiresAtMs ?? null),
          credential: device.credential,
          credentialHash: device.credentialHash,
          expiresAtMs: ms(device.expiresAtMs),
          platform: device.platform,
          createdAtMs: ms(device.createdAtMs),
          changedAtMs: ms(device.changedAtMs),
          revokedAtMs: msOrNone(device.revokedAtMs),
          leafKeys: [...of.leafKeys],
          isRevocationDue: of.isRevocationDue,
        },
      }
    }
    case "deviceList": {
      const { userId, list } = of
      return { case: "deviceList", value: { userId, version: list.version, signed: list.bytes, hash: list.hash } }
    }
    case "blockList": {
      const { userId, list } = of
      return { case: "blockList", value: { userId, version: list.version, blockedUserIds: [...list.userIds] } }
    }
    case "proofNonce":
      return {
        case: "proofNonce",
        value: { deviceId: of.deviceId, nonce: of.nonce, expiresAtMs: ms(of.expiresAtMs) },
      }
    case "keyPackage": {
      const { bytes, notBeforeMs, notAfterMs, status, ...others } = of.keyPackage
      return {
        case: "keyPackage",
        value: {
          ...others,
          package: bytes,
          notBeforeMs: ms(notBeforeMs),
          notAfterMs: ms(notAfterMs),
          status: KeyPackageStatus[status],
        },
      }
    }
    case "initKey":
      return { case: "initKey", value: { deviceId: of.deviceId, initKey: of.initKey, packageHash: of.packageHash } }
    case "conversation":
      return { case: "conversation", value: conversationShape(of.conversation) }
    case "groupKey": {
      const { is: _, ...value } = of
      return { case: "groupKey", value }
    }
    case "leaf": {
      const { conversationId, fromSeq, toSeq, leaf } = of
      return { case: "leaf", value: { ...leaf, conversationId, fromSeq, toSeq: orNone(toSeq) } }
    }
    case "envelope": {
      const { kind, acceptedAtMs, receipt, ...others } = of.envelope
      return {
        case: "envelope",
        value: {
          ...others,
          conversationId: of.conversationId,
          isCommit: kind === "COMMIT",
          acceptedAtMs: ms(acceptedAtMs),
          receipt: orNone(receipt),
        },
      }
    }
    case "groupInfo":
      return { case: "groupInfo", value: { conversationId: of.conversationId, epoch: of.epoch, info: of.info } }
    case "treeChunk": {
      const { is: _, ...chunk } = of
      return { case: "treeChunk", value: chunk }
    }
    case "cursor":
      return {
        case: "cursor",
        value: {
          ...of.cursor,
          conversationId: of.conversationId,
          deviceId: of.deviceId,
          seenAtMs: msOrNone(of.seenAtMs),
        },
      }
    case "welcome": {
      const { conversationKind, status, consumedWithKey, createdAtMs, expiresAtMs, ...others } = of.welcome
      return {
        case: "welcome",
        value: {
          ...others,
          isDirect: conversationKind === "DIRECT",
          status: WelcomeStatus[status],
          consumedWithKey: orNone(consumedWithKey),
          createdAtMs: ms(createdAtMs),
          expiresAtMs: ms(expiresAtMs),
        },
      }
    }
    case "claim": {
      const { withoutDeviceIds, claimedAtMs, ...others } = of.claim
      return {
        case: "claim",
        value: {
          ...others,
          packages: [...of.packages],
          withoutDeviceIds: [...withoutDeviceIds],
          claimedAtMs: ms(claimedAtMs),
        },
      }
    }
    case "attachment": {
      const { status, size, parts, createdAtMs, expiresAtMs, ...others } = of.attachment
      return {
        case: "attachment",
        value: {
          ...others,
          status: attachmentStatus[status],
          size: BigInt(size),
          parts: [...parts],
          createdAtMs: ms(createdAtMs),
          expiresAtMs: ms(expiresAtMs),
        },
      }
    }
    case "attachmentPart": {
      const { attachmentId, index, data } = of
      return { case: "attachmentPart", value: { attachmentId, index, data } }
    }
    case "backup":
      return { case: "backup", value: backupShape(of) }
    case "backupChunk": {
      const { userId, index, data } = of
      return { case: "backupChunk", value: { userId, index, data } }
    }
  }
}

const backupShape = ({ userId, archive }: UserBackup): MessageInitShape<typeof BackupSchema> => ({
  userId,
  id: fromHex(archive.id),
  deviceId: archive.createdBy,
  header: fromHex(archive.header),
  chunkNames: chunkNames(archive).map(fromHex),
  size: BigInt(archive.size),
  createdAtMs: ms(archive.createdAtMs),
  expiresAtMs: ms(archive.expiresAtMs),
})

function conversationShape(of: Conversation): MessageInitShape<typeof ConversationSchema> {
  const { state } = of
  return {
    id: of.id,
    mlsGroupId: of.mlsGroupId,
    isDirect: of.kind === "DIRECT",
    status: ConversationStatus[of.status],
    creatorUserId: of.creatorUserId,
    userIds: [...of.userIds],
    epoch: of.epoch,
    headSeq: of.headSeq,
    firstSeq: of.firstSeq,
    headAtMs: ms(of.headAtMs),
    state: state === null ? undefined : { ...state, treeHash: orNone(state.treeHash) },
    directives: of.directives.map(directiveShape),
    forkReports: of.forkReports.map(reportShape),
    maxLeaves: of.maxLeaves,
    createdAtMs: ms(of.createdAtMs),
  }
}

const directiveShape = (of: Directive): MessageInitShape<typeof DirectiveSchema> => ({
  id: of.id,
  kind: DirectiveKind[of.kind],
  isRemoved: of.status === "REMOVED",
  userId: of.userId,
  deviceId: orNone(of.deviceId),
  issuedAtMs: ms(of.issuedAtMs),
  leaseDeviceId: of.lease?.deviceId,
  leaseUntilMs: msOrNone(of.lease?.untilMs ?? null),
  isBeyondLog: of.isBeyondLog === true,
})

const reportShape = (of: ForkReport): MessageInitShape<typeof ForkReportSchema> => ({
  deviceId: of.deviceId,
  userId: of.userId,
  epoch: of.epoch,
  seq: of.seq,
  fault: ForkFault[of.fault],
  stateTag: orNone(of.stateTag),
  reportedAtMs: ms(of.reportedAtMs),
})
