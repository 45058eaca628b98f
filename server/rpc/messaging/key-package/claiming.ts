import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { ClaimId, ConversationId, PrincipalId } from "@signet/kernel/ids"
import { addableByAnyone } from "@signet/kernel/messaging/block"
import type { Inventory } from "@signet/kernel/messaging/key-package"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { ClaimTargets } from "@signet/kernel/messaging/membership"
import type { ClaimRecord, Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import { NoKeyPackageSchema } from "@signet/proto/messaging/v1/conflict"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { detail, detailed } from "../../../serving/call/detailed.ts"
import { auditEvent } from "../../audit/audit.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { usersAt } from "../people.ts"
import { limitExceeded } from "../refusing.ts"

/** A claim of key packages. */
interface Claiming {
  readonly id: ClaimId
  /** A conversation that the caller sees. */
  readonly conversation: Conversation
  readonly targets: ClaimTargets
}

/**
 * Claims one key package for each active device of the targets except the caller's own, and signs their ticket. The
 * same id returns the same packages and byte for byte the same ticket. `inventory` is the caller's own.
 *
 * @throws Refused RESOURCE_UNRESOLVED for a target elsewhere, LIMIT_EXCEEDED, RATE_LIMITED, IDEMPOTENCY_MISMATCH, and
 * NO_KEY_PACKAGE with the detail NoKeyPackage when no target has a package, or all of them block the caller.
 */
export async function claimFor(
  deps: MessagingDeps,
  context: HandlerContext,
  { id, conversation, targets }: Claiming,
): Promise<{ claim: ClaimRecord; ticket: Uint8Array; inventory: Inventory }> {
  const device = deviceOf(context)
  const conversationId = conversation.id
  const place = { appId: device.appId, tenantId: device.tenantId }
  const owners = await ownersOf(deps, device, targets)
  const others = [...new Set([...targets.userIds, ...owners])].filter((userId) => userId !== device.userId)
  await counted(deps, context, "messaging_claim", {
    user: device.userId,
    target: others.map((userId) => `${device.userId} ${userId}`),
  })

  const nowMs = deps.clock.nowMs()
  const outcome = await deps.store.keyPackages.claim(
    {
      id,
      requester: { deviceId: device.id, userId: device.userId },
      conversationId,
      targets,
      addable: addableByAnyone(conversation),
      place,
      requestHash: requestHash(deps, conversationId, targets),
    },
    nowMs,
    auditEvent(deps, context, nowMs, {
      kind: "key_package.claimed",
      ...place,
      actorPrincipalId: device.userId,
      subjectPrincipalId: device.userId,
      target: { type: "claim", id },
    }),
  )
  if (outcome.is === "mismatch") throw new Refused("IDEMPOTENCY_MISMATCH")
  // A commit adds no more devices, so a larger claim would waste packages.
  if (outcome.is === "tooMany") throw limitExceeded("subjects_per_commit", maxCount.subjectsPerCommit)
  const { claim, low, inventory } = outcome
  deps.wakeups.publish(low.map((deviceId) => ({ is: "keyPackageLow", deviceId })))
  if (claim.packages.length === 0) {
    const none = { deviceIds: [...claim.withoutDeviceIds] }
    throw detailed(new Refused("NO_KEY_PACKAGE"), detail(NoKeyPackageSchema, none))
  }
  const ticket = deps.signTicket({
    place,
    claimId: claim.id,
    conversationId,
    requesterDeviceId: device.id,
    packages: claim.packages.map(({ deviceId, credentialHash, ref }) => ({
      deviceId,
      credentialHash,
      keyPackageRef: ref,
    })),
    issuedAtMs: claim.claimedAtMs,
  })
  return { claim, ticket, inventory }
}

/**
 * The owners of the target devices. Owners and target users must be users of the caller's place.
 *
 * @throws Refused RESOURCE_UNRESOLVED
 */
async function ownersOf(
  deps: MessagingDeps,
  device: MessagingDevice,
  { userIds, deviceIds }: ClaimTargets,
): Promise<readonly PrincipalId[]> {
  const owners = await Promise.all(
    deviceIds.map(async (id) => {
      const found = await deps.store.devices.find(id)
      if (found?.appId !== device.appId || found.tenantId !== device.tenantId) throw new Refused("RESOURCE_UNRESOLVED")
      return found.userId
    }),
  )
  // The guard has checked the caller.
  await usersAt(
    deps,
    device,
    [...userIds, ...owners].filter((id) => id !== device.userId),
  )
  return owners
}

/** The same for targets in any order. */
function requestHash(
  { secrets }: Pick<MessagingDeps, "secrets">,
  conversationId: ConversationId,
  { userIds, deviceIds }: ClaimTargets,
): Uint8Array {
  return secrets.digest(JSON.stringify([conversationId, [...userIds].sort(), [...deviceIds].sort()]))
}
