import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import { isPushAddress, type PushKind } from "@signet/kernel/messaging/push"
import { PushKind as Kind, type PushService } from "@signet/proto/messaging/v1/push_service"
import { sessionIdOf } from "../../../serving/call/call.ts"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { auditEvent } from "../../audit/audit.ts"
import { countChange } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"

export function pushService(deps: MessagingDeps): ServiceImpl<typeof PushService> {
  const { pushes, random, clock } = deps
  return {
    async getPushSettings() {
      const enabled = pushes?.policy.kinds ?? []
      return { kinds: enabled.map((kind) => Kind[kind]), publicKey: (await pushes?.publicKey()) ?? new Uint8Array() }
    },

    async setPushEndpoint({ kind, url }, context) {
      await countChange(deps, context)
      const named = kindOf(kind)
      if (pushes === null || named === undefined || !pushes.policy.kinds.includes(named)) {
        throw invalid("kind", "kind is not enabled at this service: GetPushSettings returns the enabled kinds")
      }
      if (!isPushAddress(url, pushes.policy)) {
        throw invalid("url", "url must be an https URL on port 443 at a host that the operator allows")
      }
      const registrationId = random.bytes(16)
      const own = { deviceId: deviceOf(context).id, sessionId: sessionIdOf(context) }
      const nowMs = clock.nowMs()
      const audit = endpointEvent(deps, context, nowMs, "push_endpoint.set")
      await pushes.endpoints.set({ ...own, registrationId, kind: named, url }, nowMs, audit)
      return { registrationId }
    },

    async deletePushEndpoint(_, context: HandlerContext) {
      await countChange(deps, context)
      const audit = endpointEvent(deps, context, clock.nowMs(), "push_endpoint.deleted")
      await pushes?.endpoints.delete(deviceOf(context).id, audit)
      return {}
    },
  }
}

/** The URL is left out: to send a push, it is enough to know it. */
function endpointEvent(
  deps: Pick<MessagingDeps, "random">,
  context: HandlerContext,
  nowMs: number,
  kind: "push_endpoint.set" | "push_endpoint.deleted",
): AuditEvent {
  const { id, userId, appId, tenantId } = deviceOf(context)
  return auditEvent(deps, context, nowMs, {
    kind,
    appId,
    tenantId,
    actorPrincipalId: userId,
    subjectPrincipalId: userId,
    sessionId: sessionIdOf(context),
    target: { type: "device", id },
  })
}

/** Undefined for a kind that this version does not know. */
function kindOf(kind: Kind): PushKind | undefined {
  if (kind === Kind.WEB_PUSH) return "WEB_PUSH"
  return kind === Kind.WEBHOOK ? "WEBHOOK" : undefined
}

const invalid = (field: string, message: string): Refused =>
  new Refused("INVALID_FIELD", { message, metadata: { field } })
