import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { serves } from "@signet/kernel/messaging/backend"
import { sessionState } from "@signet/kernel/session/session"
import { type AuthorityService, GetSessionResponse_State } from "@signet/proto/authority/v1/authority_service"
import { backendOf, servedPlace } from "./backend.ts"
import { countBackend } from "./counting.ts"
import type { AuthorityDeps } from "./deps.ts"
import { writeAuditEvents } from "./events.ts"
import { changeSessions } from "./sessions.ts"
import { idIn, issueCredential, issueProof, signDeviceList } from "./sign.ts"

export function authorityService(deps: AuthorityDeps): ServiceImpl<typeof AuthorityService> {
  const counted =
    <Request, Answer>(work: (request: Request, context: HandlerContext) => Answer | Promise<Answer>) =>
    async (request: Request, context: HandlerContext): Promise<Answer> => {
      await countBackend(deps, context)
      return work(request, context)
    }

  return {
    issueCredential: counted(async (request, context) => ({
      credential: await issueCredential(deps, context, request),
    })),

    signDeviceList: counted(async (request, context) => ({ deviceList: await signDeviceList(deps, context, request) })),

    issueProof: counted(async (request, context) => ({ proof: await issueProof(deps, context, request) })),

    getIssuerKeySet: counted(() => {
      const issuerKeySet = deps.authority.issuerKeySet()
      if (issuerKeySet === undefined) throw new Refused("UNAVAILABLE", { message: "no key set is configured" })
      return { issuerKeySet }
    }),

    listActiveUsers: counted(async (request, context) => {
      const place = await servedPlace(deps, context, request.place)
      const ids = [...new Set(request.userIds)].map((id) => idIn("prn", id, "user_ids"))
      const { activeUsers, goneUsers } = deps.store.members
      const [activeUserIds, goneUserIds] = await Promise.all([activeUsers(ids, place), goneUsers(ids, place)])
      return { activeUserIds: [...activeUserIds], goneUserIds: [...goneUserIds] }
    }),

    getSession: counted(async (request, context) => {
      const id = idIn("ses", request.sessionId, "session_id")
      const backend = await backendOf(deps, context)
      const session = await deps.store.transaction((tx) => tx.sessions.find(id))
      if (session === undefined || !serves(backend, session)) throw new Refused("NOT_FOUND")
      const state = GetSessionResponse_State[sessionState(session, deps.clock.nowMs())]
      return { state, boundDeviceId: session.boundDeviceId ?? "" }
    }),

    changeSessions: counted(async (request, context) => {
      await changeSessions(deps, context, request)
      return {}
    }),

    writeAuditEvents: counted(async (request, context) => {
      await writeAuditEvents(deps, context, request.events)
      return {}
    }),
  }
}
