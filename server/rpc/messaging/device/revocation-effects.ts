// What follows when a device was revoked: nobody gets its key packages, its welcomes are void, and each conversation that
// it is in is told to remove it. Every step may be done again, so it does not matter where the one before stopped.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { type ConversationId, type DeviceId, newId, type PrincipalId } from "@signet/kernel/ids"
import { decideRevocation } from "@signet/kernel/messaging/directive"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { MessagingDeps } from "../deps.ts"

type Deps = Pick<MessagingDeps, "store" | "wakeups" | "clock" | "random">

export interface Revoked {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
}

/** How many conversations one call tells itself; the rest is the sweep's. */
const conversationsPerCall = 50
const devicesPerSweep = 100

/** Carries out what is due; call it every few seconds. @throws when something failed: the next call goes on. */
export async function carryOutRevocations(deps: Deps): Promise<void> {
  for (const revoked of await deps.store.devices.dueEffects(devicesPerSweep)) {
    await carryOut(deps, revoked, Number.POSITIVE_INFINITY)
  }
}

/**
 * The same for devices that were revoked in this call. The revocation is written, so a failure is not the caller's: what
 * was not done is due still, and the sweep reports what hinders it.
 */
export async function carryOutNow(deps: Deps, userId: PrincipalId, deviceIds: readonly DeviceId[]): Promise<void> {
  for (const deviceId of deviceIds) {
    await carryOut(deps, { deviceId, userId }, conversationsPerCall).catch(() => undefined)
  }
}

async function carryOut(deps: Deps, revoked: Revoked, most: number): Promise<void> {
  const { store } = deps
  const { deviceId } = revoked
  await store.keyPackages.retire(deviceId, "all")
  await store.welcomes.voidAll(deviceId)
  const ids = await store.conversations.withDevice(deviceId)
  for (const id of ids.slice(0, most)) await direct(deps, revoked, id)
  if (ids.length <= most) await store.devices.effectsDone(deviceId)
}

/** Tells one conversation to remove the device, if it is in it. */
export async function direct(deps: Deps, { deviceId, userId }: Revoked, conversationId: ConversationId): Promise<void> {
  const nowMs = deps.clock.nowMs()
  const asked = { id: newId("dir", nowMs, deps.random.bytes(10)), userId, deviceId, nowMs }
  const done = await deps.store.conversations.direct(
    conversationId,
    (conversation) => decideRevocation(conversation, asked),
    ({ is }) => {
      if (is === "issue") return event(deps, nowMs, "directive.issued", { type: "directive", id: asked.id }, userId)
      if (is !== "close") return null
      return event(deps, nowMs, "conversation.closed", { type: "conversation", id: conversationId }, userId)
    },
  )
  if (done?.decision.is !== "issue") return
  const { directive } = done.decision
  const hint: Hint = { is: "directive", conversationId, directiveId: directive.id }
  deps.wakeups.publish([hint])
}

/** An event of the service itself: the call that revoked the device has one of its own. */
const event = (
  { random }: Pick<Deps, "random">,
  nowMs: number,
  kind: "directive.issued" | "conversation.closed",
  target: AuditEvent["target"],
  subjectPrincipalId: PrincipalId,
): AuditEvent => ({
  id: newId("aud", nowMs, random.bytes(10)),
  occurredAtMs: nowMs,
  kind,
  outcome: "SUCCESS",
  reason: null,
  appId: null,
  tenantId: null,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId,
  subjectIdentityId: null,
  sessionId: null,
  target,
  request: { id: "", route: "", ipTruncated: null },
})
