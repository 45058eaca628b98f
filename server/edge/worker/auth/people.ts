// The auth service as the one who knows people and sessions, and keeps the audit.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import type { MessagingAccounts } from "@signet/kernel/messaging/ports"
import type { Place } from "@signet/kernel/messaging/records"
import type { SessionState } from "@signet/kernel/session/session"
import {
  AuthorityService,
  BackendEvent_Outcome,
  type ListActiveUsersResponse,
  GetSessionResponse_State as State,
} from "@signet/proto/authority/v1/authority_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import type { Effects } from "../../../store/durable/effects.ts"
import type { CallAuth } from "./call.ts"
import { placeShape } from "./signing.ts"

/** As many as one call takes. */
const usersAtOnce = 1_024
const eventsAtOnce = 50

export function people(call: CallAuth): MessagingAccounts & Effects {
  async function standings(
    ids: readonly PrincipalId[],
    place: Place,
    of: (answer: ListActiveUsersResponse) => string[],
  ) {
    const found: PrincipalId[] = []
    for (let at = 0; at < ids.length; at += usersAtOnce) {
      const userIds = ids.slice(at, at + usersAtOnce)
      const answer = await call(AuthorityService.method.listActiveUsers, { place: placeShape(place), userIds })
      const named = new Set(of(answer))
      found.push(...userIds.filter((id) => named.has(id)))
    }
    return found
  }

  return {
    activeUsers: (ids, place) => standings(ids, place, ({ activeUserIds }) => activeUserIds),
    goneUsers: (ids, place) => standings(ids, place, ({ goneUserIds }) => goneUserIds),

    async findSession(sessionId) {
      try {
        const { state, boundDeviceId } = await call(AuthorityService.method.getSession, { sessionId })
        return { state: stateOf(state), boundDeviceId: parseId("dev", boundDeviceId) ?? null }
      } catch (error) {
        if (error instanceof Refused && error.reason === "NOT_FOUND") return undefined
        throw error
      }
    },

    async audit(events) {
      for (let at = 0; at < events.length; at += eventsAtOnce) {
        const some = events.slice(at, at + eventsAtOnce).map(eventShape)
        await call(AuthorityService.method.writeAuditEvents, { events: some })
      }
    },

    async changeSessions({ list: deviceList, bind, revoked }) {
      await call(AuthorityService.method.changeSessions, {
        deviceList,
        ...(bind === null ? {} : { bind }),
        revokedDeviceIds: [...revoked],
      })
    },
  }
}

/** One that is not known here is no session to go on with. */
function stateOf(state: State): SessionState {
  switch (state) {
    case State.ACTIVE:
      return "ACTIVE"
    case State.EXPIRED:
      return "EXPIRED"
    case State.COMPROMISED:
      return "COMPROMISED"
    default:
      return "REVOKED"
  }
}

const eventShape = (of: AuditEvent) => ({
  id: of.id,
  occurredAt: timestampFromMs(of.occurredAtMs),
  kind: of.kind,
  outcome: BackendEvent_Outcome[of.outcome],
  reason: of.reason === null ? Reason.REASON_UNSPECIFIED : Reason[of.reason],
  appId: of.appId ?? "",
  tenantId: of.tenantId ?? "",
  actorPrincipalId: of.actorPrincipalId ?? "",
  subjectPrincipalId: of.subjectPrincipalId ?? "",
  subjectIdentityId: of.subjectIdentityId ?? "",
  sessionId: of.sessionId ?? "",
  targetType: of.target?.type ?? "",
  targetId: of.target?.id ?? "",
  requestId: of.request.id,
  route: of.request.route,
  ipTruncated: of.request.ipTruncated ?? "",
})
