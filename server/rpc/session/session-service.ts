import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { SessionService } from "@signet/proto/auth/v1/session_service"
import { sessionUserOf } from "../../serving/call/call.ts"
import { auditEvent, ofSession } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { pageAsked, pageFound } from "../page.ts"
import { sessionShape } from "../shape.ts"

export function sessionService(deps: Deps): ServiceImpl<typeof SessionService> {
  return {
    async listSessions(request, context) {
      const user = sessionUserOf(context)
      const nowMs = deps.clock.nowMs()
      const filter = ["sessions", user.principal.id, user.appId]
      const { size, before } = pageAsked(deps.secrets, "ses", filter, request)
      const found = await deps.store.transaction((tx) =>
        tx.sessions.listActive(
          { principalId: user.principal.id, appId: user.appId, tenantId: null, contextId: null },
          nowMs,
          { size, before },
        ),
      )
      const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
      return { sessions: page.map((session) => sessionShape(session, nowMs, user.sessionId)), nextPageToken }
    },

    async revokeSession(request, context) {
      const user = sessionUserOf(context)
      const id = parseId("ses", request.sessionId)
      const nowMs = deps.clock.nowMs()
      const found = await deps.store.transaction(async (tx) => {
        const session = id && (await tx.sessions.lock(id))
        if (!session || session.principalId !== user.principal.id || session.appId !== user.appId) return false
        if (await tx.sessions.end(session.id, "REVOKED", "revoked_by_user", nowMs)) {
          const facts = { kind: "session.revoked", ...ofSession(session) } as const
          await tx.audit.append(auditEvent(deps, context, nowMs, facts))
        }
        return true
      })
      // Another user's session is answered as a missing one.
      if (!found) throw new Refused("SESSION_NOT_FOUND")
      return {}
    },
  }
}
