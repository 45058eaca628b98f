// Maps contract records to the kernel's. Validation has checked sizes; this file checks ids and numbers.
import { Refused } from "@signet/kernel/errors"
import { type IdKinds, parseId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import type { TransferRecord } from "@signet/kernel/messaging/moving"
import type { Directive, ForkReport, Place } from "@signet/kernel/messaging/records"
import {
  type Backup,
  type Conversation,
  ConversationStatus,
  DirectiveKind,
  type Directive as DirectiveMessage,
  ForkFault,
  type ForkReport as ForkReportMessage,
  type Record,
} from "@signet/proto/transfer/v1/records"
import { attachmentStatusOf, keyPackageStatusOf, named, welcomeStatusOf } from "./statuses.ts"

export const invalid = (): Refused => new Refused("INVALID_FIELD", { metadata: { field: "records" } })

function id<K extends keyof IdKinds>(kind: K, text: string): IdKinds[K] {
  const parsed = parseId(kind, text)
  if (parsed === undefined) throw invalid()
  return parsed
}

const ids = <K extends keyof IdKinds>(kind: K, texts: readonly string[]) => texts.map((text) => id(kind, text))

/** A time within the range of Date, which a number represents exactly. */
function time(ms: bigint): number {
  if (ms < -8_640_000_000_000_000n || ms > 8_640_000_000_000_000n) throw invalid()
  return Number(ms)
}

const timeOrNull = (ms: bigint | undefined): number | null => (ms === undefined ? null : time(ms))

/** A sequence number or epoch that a number represents exactly. */
function count(value: bigint): bigint {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid()
  return value
}

/** @throws Refused INVALID_FIELD */
export function recordOf({ kind: of }: Record, place: Place): TransferRecord {
  switch (of.case) {
    case "device": {
      const { value } = of
      const { previousLeafKey, previousExpiresAtMs } = value
      const revokedAtMs = timeOrNull(value.revokedAtMs)
      if (value.isRevoked !== (revokedAtMs !== null)) throw invalid()
      return {
        is: "device",
        device: {
          ...place,
          id: id("dev", value.id),
          userId: id("prn", value.userId),
          status: value.isRevoked ? "REVOKED" : "ACTIVE",
          leafKey: value.leafKey,
          previousKey:
            previousLeafKey === undefined || previousExpiresAtMs === undefined
              ? null
              : { leafKey: previousLeafKey, expiresAtMs: time(previousExpiresAtMs) },
          credential: value.credential,
          credentialHash: value.credentialHash,
          expiresAtMs: time(value.expiresAtMs),
          platform: value.platform,
          createdAtMs: time(value.createdAtMs),
          changedAtMs: time(value.changedAtMs),
          revokedAtMs,
        },
        leafKeys: value.leafKeys,
        isRevocationDue: value.isRevocationDue,
      }
    }
    case "deviceList": {
      const { userId, version, signed, hash } = of.value
      return { is: "deviceList", userId: id("prn", userId), list: { version: count(version), bytes: signed, hash } }
    }
    case "blockList": {
      const { userId, version, blockedUserIds } = of.value
      const list = { version: count(version), userIds: ids("prn", blockedUserIds) }
      return { is: "blockList", userId: id("prn", userId), list }
    }
    case "proofNonce": {
      const { deviceId, nonce, expiresAtMs } = of.value
      return { is: "proofNonce", deviceId: id("dev", deviceId), nonce, expiresAtMs: time(expiresAtMs) }
    }
    case "keyPackage": {
      const { value } = of
      return {
        is: "keyPackage",
        keyPackage: {
          ref: value.ref,
          initKey: value.initKey,
          deviceId: id("dev", value.deviceId),
          userId: id("prn", value.userId),
          credentialHash: value.credentialHash,
          bytes: value.package,
          isLastResort: value.isLastResort,
          notBeforeMs: time(value.notBeforeMs),
          notAfterMs: time(value.notAfterMs),
          status: keyPackageStatusOf(value.status),
        },
      }
    }
    case "initKey": {
      const { deviceId, initKey, packageHash } = of.value
      return { is: "initKey", deviceId: id("dev", deviceId), initKey, packageHash }
    }
    case "conversation":
      return conversationOf(of.value, place)
    case "groupKey": {
      const { deviceId, key, requestHash, conversationId } = of.value
      const ids = { deviceId: id("dev", deviceId), conversationId: id("cnv", conversationId) }
      return { is: "groupKey", ...ids, key, requestHash }
    }
    case "leaf": {
      const { value } = of
      return {
        is: "leaf",
        conversationId: id("cnv", value.conversationId),
        leaf: {
          leafIndex: value.leafIndex,
          deviceId: id("dev", value.deviceId),
          userId: id("prn", value.userId),
          credentialHash: value.credentialHash,
          joinedEpoch: count(value.joinedEpoch),
        },
        fromSeq: count(value.fromSeq),
        toSeq: value.toSeq === undefined ? null : count(value.toSeq),
      }
    }
    case "envelope": {
      const { value } = of
      if (value.isCommit !== (value.receipt !== undefined)) throw invalid()
      return {
        is: "envelope",
        conversationId: id("cnv", value.conversationId),
        envelope: {
          seq: count(value.seq),
          epoch: count(value.epoch),
          kind: value.isCommit ? "COMMIT" : "APPLICATION",
          message: value.message,
          contentHash: value.contentHash,
          senderDeviceId: id("dev", value.senderDeviceId),
          acceptedAtMs: time(value.acceptedAtMs),
          receipt: value.receipt ?? null,
          idempotencyKey: value.idempotencyKey,
        },
      }
    }
    case "groupInfo": {
      const { conversationId, epoch, info } = of.value
      return { is: "groupInfo", conversationId: id("cnv", conversationId), epoch: count(epoch), info }
    }
    case "treeChunk": {
      const { conversationId, hash, size, index, chunk } = of.value
      return { is: "treeChunk", conversationId: id("cnv", conversationId), hash, size, index, chunk }
    }
    case "cursor": {
      const { value } = of
      return {
        is: "cursor",
        conversationId: id("cnv", value.conversationId),
        deviceId: id("dev", value.deviceId),
        cursor: { processedSeq: count(value.processedSeq), processedEpoch: count(value.processedEpoch) },
        seenAtMs: timeOrNull(value.seenAtMs),
      }
    }
    case "welcome": {
      const { value } = of
      return {
        is: "welcome",
        welcome: {
          id: id("wel", value.id),
          deviceId: id("dev", value.deviceId),
          conversationId: id("cnv", value.conversationId),
          mlsGroupId: value.mlsGroupId,
          conversationKind: value.isDirect ? "DIRECT" : "GROUP",
          epoch: count(value.epoch),
          commitSeq: count(value.commitSeq),
          keyPackageRef: value.keyPackageRef,
          welcome: value.welcome,
          treeHash: value.treeHash,
          receipt: value.receipt,
          proof: value.proof,
          adderDeviceId: id("dev", value.adderDeviceId),
          status: welcomeStatusOf(value.status),
          consumedWithKey: value.consumedWithKey ?? null,
          createdAtMs: time(value.createdAtMs),
          expiresAtMs: time(value.expiresAtMs),
        },
      }
    }
    case "claim": {
      const { value } = of
      return {
        is: "claim",
        claim: {
          id: id("clm", value.id),
          requesterDeviceId: id("dev", value.requesterDeviceId),
          conversationId: id("cnv", value.conversationId),
          requestHash: value.requestHash,
          withoutDeviceIds: ids("dev", value.withoutDeviceIds),
          claimedAtMs: time(value.claimedAtMs),
        },
        packages: value.packages.map(({ deviceId, ref }) => ({ deviceId: id("dev", deviceId), ref })),
      }
    }
    case "attachment": {
      const { value } = of
      return {
        is: "attachment",
        attachment: {
          id: id("att", value.id),
          conversationId: id("cnv", value.conversationId),
          ownerDeviceId: id("dev", value.ownerDeviceId),
          ownerUserId: id("prn", value.ownerUserId),
          status: attachmentStatusOf(value.status),
          size: Number(value.size),
          sha256: value.sha256,
          partSize: value.partSize,
          parts: value.parts,
          idempotencyKey: value.idempotencyKey,
          createdAtMs: time(value.createdAtMs),
          expiresAtMs: time(value.expiresAtMs),
        },
      }
    }
    case "attachmentPart": {
      const { attachmentId, index, data } = of.value
      return { is: "attachmentPart", attachmentId: id("att", attachmentId), index, data }
    }
    case "backup":
      return backupOf(of.value)
    case "backupChunk": {
      const { userId, index, data } = of.value
      return { is: "backupChunk", userId: id("prn", userId), index, data }
    }
    case undefined:
      throw invalid()
  }
}

function backupOf(value: Backup): TransferRecord {
  const deviceId = id("dev", value.deviceId)
  return {
    is: "backup",
    userId: id("prn", value.userId),
    archive: {
      id: hex(value.id),
      kind: "BACKUP",
      status: "COMPLETE",
      createdBy: deviceId,
      writer: deviceId,
      header: hex(value.header),
      grant: "",
      chunks: value.chunkNames.map(hex).join(""),
      size: Number(value.size),
      createdAtMs: time(value.createdAtMs),
      expiresAtMs: time(value.expiresAtMs),
    },
  }
}

function conversationOf(value: Conversation, place: Place): TransferRecord {
  const { state } = value
  return {
    is: "conversation",
    conversation: {
      ...place,
      id: id("cnv", value.id),
      mlsGroupId: value.mlsGroupId,
      kind: value.isDirect ? "DIRECT" : "GROUP",
      status: named(["ACTIVE", "QUARANTINED", "CLOSED"], ConversationStatus, value.status),
      creatorUserId: id("prn", value.creatorUserId),
      userIds: ids("prn", value.userIds),
      epoch: count(value.epoch),
      headSeq: count(value.headSeq),
      firstSeq: count(value.firstSeq),
      headAtMs: time(value.headAtMs),
      state:
        state === undefined
          ? null
          : {
              stateTag: state.stateTag,
              receiptHash: state.receiptHash,
              groupContext: state.groupContext,
              interimTranscriptHash: state.interimTranscriptHash,
              treeHash: state.treeHash ?? null,
            },
      roster: [],
      directives: value.directives.map(directiveOf),
      forkReports: value.forkReports.map(reportOf),
      maxLeaves: value.maxLeaves,
      createdAtMs: time(value.createdAtMs),
    },
  }
}

function directiveOf(value: DirectiveMessage): Directive {
  const { leaseDeviceId, leaseUntilMs, deviceId } = value
  return {
    id: id("dir", value.id),
    kind: named(["REVOCATION", "LEAVE", "REJOIN"], DirectiveKind, value.kind),
    status: value.isRemoved ? "REMOVED" : "OPEN",
    userId: id("prn", value.userId),
    deviceId: deviceId === undefined ? null : id("dev", deviceId),
    issuedAtMs: time(value.issuedAtMs),
    lease:
      leaseDeviceId === undefined || leaseUntilMs === undefined
        ? null
        : { deviceId: id("dev", leaseDeviceId), untilMs: time(leaseUntilMs) },
    ...(value.isBeyondLog && { isBeyondLog: true }),
  }
}

const faults = ["COMMIT_UNPROCESSABLE", "STATE_TAG_MISMATCH", "RECEIPT_INVALID", "MEMBERSHIP_INVALID"] as const

const reportOf = (value: ForkReportMessage): ForkReport => ({
  deviceId: id("dev", value.deviceId),
  userId: id("prn", value.userId),
  epoch: count(value.epoch),
  seq: count(value.seq),
  fault: named(faults, ForkFault, value.fault),
  stateTag: value.stateTag ?? null,
  reportedAtMs: time(value.reportedAtMs),
})
