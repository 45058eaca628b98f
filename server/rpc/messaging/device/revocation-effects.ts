// The effects of a device's revocation: its key packages cannot be claimed, its welcomes are void, its push endpoint is deleted, and each of its
// conversations gets a directive to remove it. Every step is idempotent, so a failed run is repeated as a whole.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { type ConversationId, type DeviceId, newId, type PrincipalId } from "@signet/kernel/ids"
import { decideRevocation } from "@signet/kernel/messaging/directive"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { MessagingDeps } from "../deps.ts"

type Deps = Pick<MessagingDeps, "store" | "wakeups" | "clock" | "random">
type EffectDeps = Deps & Pick<MessagingDeps, "pushes">

export interface Revoked {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
}

/** The most conversations that one call notifies; the sweep notifies the rest. */
const conversationsPerCall = 50
const devicesPerSweep = 100

/** Applies the due effects; call it every few seconds. @throws the first failure; the next call continues. */
export async function carryOutRevocations(deps: EffectDeps): Promise<void> {
  for (const revoked of await deps.store.devices.dueEffects(devicesPerSweep)) {
    await carryOut(deps, revoked, Number.POSITIVE_INFINITY)
  }
}

/**
 * Applies the effects for devices that this call revoked. The revocation is stored, so a failure is not reported to the
 * caller: the effects stay due, and the sweep reports its cause.
 */
export async function carryOutNow(
  deps: EffectDeps,
  userId: PrincipalId,
  deviceIds: readonly DeviceId[],
): Promise<void> {
  for (const deviceId of deviceIds) {
    await carryOut(deps, { deviceId, userId }, conversationsPerCall).catch(() => undefined)
  }
}

async function carryOut(deps: EffectDeps, revoked: Revoked, most: number): Promise<void> {
  const { store } = deps
  const { deviceId } = revoked
  await store.keyPackages.retire(deviceId, "all")
  await store.welcomes.voidAll(deviceId)
  await deps.pushes?.endpoints.delete(deviceId, null)
  const ids = await store.conversations.withDevice(deviceId)
  for (const id of ids.slice(0, most)) await issueRemoval(deps, revoked, id)
  if (ids.length <= most) await store.devices.effectsDone(deviceId)
}

/** Issues the directive to remove the device from one conversation of which it is a member. */
export async function issueRemoval(
  deps: Deps,
  { deviceId, userId }: Revoked,
  conversationId: ConversationId,
): Promise<void> {
  const nowMs = deps.clock.nowMs()
  const asked = { id: newId("dir", nowMs, deps.random.bytes(10)), userId, deviceId, nowMs }
  const done = await deps.store.conversations.decideDirective(
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

/** The event of a change that the service itself makes; the revoking call has an event of its own. */
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
