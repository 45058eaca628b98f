// Sessions of other people, for administrators of members. A session is in reach where it is signed in: an administrator
// of a tenant sees none of a member's sessions elsewhere in the app.
import type { ServiceImpl } from "@connectrpc/connect"
import { parseId } from "@signet/kernel/ids"
import type { Session } from "@signet/kernel/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { Deps } from "../deps.ts"
import { pageAsked, pageFound } from "../page.ts"
import { sessionShape } from "../shape.ts"
import { type AdminTransaction, administer } from "./administer.ts"
import { foundIn, foundListPlace, foundMember, placeOf } from "./found.ts"

type Methods = "listPrincipalSessions" | "revokePrincipalSession" | "revokePrincipalSessions"

const reason = "revoked_by_administrator"

export function principalSessions(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    listPrincipalSessions: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const { nowMs, caller, tx } = admin
        const place = await foundListPlace(admin, { ...request, contextId: "" })
        const { id: principalId } = await foundMember(admin, place.appId, request.principalId, "find")
        const filter = ["principal-sessions", principalId, place.appId, place.tenantId ?? "", place.contextId ?? ""]
        const asked = pageAsked(deps.secrets, "ses", filter, request)
        const found = await tx.sessions.listActive({ principalId, ...place }, nowMs, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { sessions: page.map((session) => sessionShape(session, nowMs, caller.sessionId)), nextPageToken }
      }),

    revokePrincipalSession: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const id = parseId("ses", request.sessionId)
        const session = foundIn(request.appId, id && (await admin.tx.sessions.lock(id)))
        admin.reach(placeOf(session))
        if (await admin.tx.sessions.end(session.id, "REVOKED", reason, admin.nowMs)) await record(admin, session)
        return {}
      }),

    revokePrincipalSessions: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const { tx, nowMs } = admin
        const place = await foundListPlace(admin, { ...request, contextId: "" })
        const { id: principalId } = await foundMember(admin, place.appId, request.principalId)
        const ended = await tx.endings.endByMembership({ ...place, principalId }, reason, nowMs)
        for (const id of ended) {
          const session = await tx.sessions.find(id)
          if (session !== undefined) await record(admin, session)
        }
        return { revokedSessions: ended.length }
      }),
  }
}

/** The event names the session's own place, so that the administrators there find it. */
const record = (admin: AdminTransaction, session: Session): Promise<void> =>
  admin.record("session.revoked", {
    place: placeOf(session),
    target: { type: "session", id: session.id },
    subject: session.principalId,
  })
