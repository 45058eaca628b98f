// Maps the kernel's limits to the answer of GetLimits.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Duration, durationFromMs } from "@bufbuild/protobuf/wkt"
import {
  directiveTimesMs,
  heartbeatMs,
  keyPackagePool,
  lifetimeMs,
  maxBytes,
  maxCount,
  rates,
} from "@signet/kernel/messaging/limits"
import type { LimitsSchema } from "@signet/proto/messaging/v1/conversation_service"
import type { MessagingDeps } from "./deps.ts"

const lasting = (ms: number): Duration => durationFromMs(ms)
const perSecond = ({ limit, seconds }: { limit: number; seconds: number }): number => Math.floor(limit / seconds)

export function limitsShape({
  leavesPerConversation,
}: Pick<MessagingDeps, "leavesPerConversation">): MessageInitShape<typeof LimitsSchema> {
  return {
    applicationMessageBytes: maxBytes.application,
    commitBytes: maxBytes.commit,
    groupInfoBytes: maxBytes.groupInfo,
    treeBytes: maxBytes.tree,
    welcomeBytes: maxBytes.welcome,
    welcomeRecipientBytes: maxBytes.welcomeRecipient,
    appendBytes: maxBytes.append,
    keyPackageBytes: maxBytes.keyPackage,
    proofBytes: maxBytes.proof,
    subjectsPerCommit: maxCount.subjectsPerCommit,
    leavesPerConversation,
    devicesPerUser: maxCount.devicesPerUser,
    conversationsPerUser: maxCount.conversationsPerUser,
    keyPackagesPerUpload: maxCount.keyPackagesPerUpload,
    keyPackagesPerDevice: maxCount.keyPackages,
    keyPackagesToKeep: keyPackagePool.keep,
    keyPackagesLowWater: keyPackagePool.lowWater,
    keyPackageLifetime: lasting(lifetimeMs.keyPackage),
    lastResortLifetime: lasting(lifetimeMs.lastResort),
    credentialLifetime: lasting(lifetimeMs.credential),
    proofLifetime: lasting(lifetimeMs.proof),
    claimLifetime: lasting(lifetimeMs.claim),
    welcomeGrace: lasting(lifetimeMs.welcome),
    directiveLease: lasting(directiveTimesMs.lease),
    directiveGrace: lasting(directiveTimesMs.grace.APPLICATION),
    directiveCommitGrace: lasting(directiveTimesMs.grace.COMMIT),
    logRetention: lasting(lifetimeMs.log),
    idempotencyRetention: lasting(lifetimeMs.idempotency),
    claimsPerTargetAndHour: rates.claimPerTarget.limit,
    claimsPerHour: rates.claim.limit,
    appendsPerSecond: perSecond(rates.append),
    appendsBurst: rates.append.limit,
    commitsPerSecond: perSecond(rates.commit),
    registrationsPerDay: rates.register.limit,
    streamsPerDevice: maxCount.streamsPerDevice,
    heartbeat: lasting(heartbeatMs),
    blocksPerUser: maxCount.blocksPerUser,
    archivesPerUser: maxCount.archivesPerUser,
    archivesBytes: BigInt(maxBytes.archives),
    attachmentBytes: BigInt(maxBytes.attachment),
    attachmentPartBytes: maxBytes.attachmentPart,
    attachmentRetention: lasting(lifetimeMs.attachment),
    envelopesPerPage: maxCount.envelopesPerPage,
  }
}
