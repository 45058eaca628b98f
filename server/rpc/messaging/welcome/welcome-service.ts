import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { auditEvent } from "../../audit/audit.ts"
import { pageAsked, pageTokenAfter } from "../../page.ts"
import { countChange } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { welcomeShape } from "../device/device-shape.ts"

export function welcomeService(deps: MessagingDeps): ServiceImpl<typeof WelcomeService> {
  const { welcomes } = deps.store
  return {
    async listWelcomes(request, context) {
      const { id: deviceId } = deviceOf(context)
      const nowMs = deps.clock.nowMs()
      const filter = ["welcomes", deviceId]
      const { size, before: after } = pageAsked(deps.secrets, "wel", filter, request)
      const page = await welcomes.listPending(deviceId, nowMs, {
        size: size - 1,
        maxBytes: maxBytes.welcomePage,
        after,
      })
      const last = page.at(-1)
      // The page may have ended at its byte limit, so only another look-up shows whether more follow.
      const more =
        last === undefined ? [] : await welcomes.listPending(deviceId, nowMs, { size: 1, maxBytes: 0, after: last })
      return {
        welcomes: page.map(welcomeShape),
        nextPageToken: last === undefined || more.length === 0 ? "" : pageTokenAfter(deps.secrets, filter, last),
      }
    },

    async consumeWelcome(request, context) {
      const device = deviceOf(context)
      const id = parseId("wel", request.welcomeId)
      if (id === undefined) throw new Refused("NOT_FOUND")
      await countChange(deps, context)
      const nowMs = deps.clock.nowMs()
      const consumed = await welcomes.consume(
        id,
        { deviceId: device.id, key: request.idempotencyKey },
        nowMs,
        auditEvent(deps, context, nowMs, {
          kind: "welcome.consumed",
          appId: device.appId,
          tenantId: device.tenantId,
          actorPrincipalId: device.userId,
          subjectPrincipalId: device.userId,
          target: { type: "welcome", id },
        }),
      )
      if (typeof consumed === "string") throw new Refused(consumed)
      return { welcome: welcomeShape(consumed) }
    },
  }
}
