import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { SessionCursor } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import type { SessionService } from "@signet/proto/auth/v1/session_service"
import { auditEvent } from "./audit.ts"
import { userOf } from "./call.ts"
import type { Deps } from "./deps.ts"
import { buildPageToken, parsePageToken } from "./page-token.ts"
import { sessionShape } from "./shape.ts"

const defaultPageSize = 50

export function sessionService(deps: Deps): ServiceImpl<typeof SessionService> {
  return {
    async listSessions(request, context) {
      const user = userOf(context)
      const nowMs = deps.clock.nowMs()
      const size = request.pageSize || defaultPageSize
      const filter = ["sessions", user.principal.id, user.appId]
      const before = cursorOf(parsePageToken(deps.secrets, filter, request.pageToken))
      // One more than asked for tells whether there is a next page.
      const found = await deps.store.transaction((tx) =>
        tx.sessions.listActive(user.principal.id, user.appId, nowMs, { size: size + 1, before }),
      )
      const page = found.slice(0, size)
      const last = page.at(-1)
      return {
        sessions: page.map((session) => sessionShape(session, nowMs, user.sessionId)),
        nextPageToken: last && found.length > size ? buildPageToken(deps.secrets, filter, cursorText(last)) : "",
      }
    },

    async revokeSession(request, context) {
      const user = userOf(context)
      const id = parseId("ses", request.sessionId)
      const nowMs = deps.clock.nowMs()
      const found = await deps.store.transaction(async (tx) => {
        const session = id && (await tx.sessions.lock(id))
        if (!session || session.principalId !== user.principal.id || session.appId !== user.appId) return false
        if (await tx.sessions.end(session.id, "REVOKED", "revoked_by_user", nowMs)) {
          await tx.audit.append(
            auditEvent(deps, context, nowMs, {
              kind: "session.revoked",
              appId: user.appId,
              actorPrincipalId: user.principal.id,
              subjectPrincipalId: user.principal.id,
              subjectIdentityId: user.identityId,
              sessionId: session.id,
            }),
          )
        }
        return true
      })
      // Somebody else's session is no session: one answer for both.
      if (!found) throw new Refused("SESSION_NOT_FOUND")
      return {}
    },
  }
}

const cursorText = (session: Session): string => `${session.createdAtMs} ${session.id}`

function cursorOf(text: string | null): SessionCursor | null {
  if (text === null) return null
  const [createdAtMs, id] = text.split(" ")
  const parsed = parseId("ses", id ?? "")
  if (parsed === undefined || !Number.isSafeInteger(Number(createdAtMs))) throw new Refused("INVALID_FIELD")
  return { createdAtMs: Number(createdAtMs), id: parsed }
}
