// The auth service's facts: users, sessions and audit.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { ConnectError } from "@connectrpc/connect"
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
import type { ErrorInfo } from "@signet/proto/google/rpc/error_details"
import { denialShape } from "../../../rpc/audit/denial-shape.ts"
import { errorInfo } from "../../../serving/errors.ts"
import { type Effects, PermanentlyRefused } from "../../../store/durable/effects.ts"
import type { CallAuth } from "./call.ts"
import { placeShape } from "./signing.ts"

/** The maximum of one call. */
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
      const send = (some: readonly AuditEvent[]) =>
        permanentRefusal(call(AuthorityService.method.writeAuditEvents, { events: some.map(eventShape) }))
      let fault: PermanentlyRefused | undefined
      for (let at = 0; at < events.length; at += eventsAtOnce) {
        const some = events.slice(at, at + eventsAtOnce)
        if ((await send(some)) === undefined) continue
        // One invalid event refuses all of them, so each is sent separately.
        for (const one of some) fault = (await send([one])) ?? fault
      }
      if (fault !== undefined) throw fault
    },

    async changeSessions({ list: deviceList, bind, revoked }) {
      const change = { deviceList, ...(bind === null ? {} : { bind }), revokedDeviceIds: [...revoked] }
      const fault = await permanentRefusal(call(AuthorityService.method.changeSessions, change))
      if (fault !== undefined) throw fault
    },
  }
}

/**
 * Sends an effect of an outbox. @returns The reason of a permanent rejection; throws an error that a retry may resolve.
 */
async function permanentRefusal(pending: Promise<unknown>): Promise<PermanentlyRefused | undefined> {
  try {
    await pending
    return undefined
  } catch (error) {
    const info = error instanceof Refused && error.cause instanceof ConnectError ? errorInfo(error.cause) : undefined
    if (!isPermanent(info)) throw error
    return new PermanentlyRefused(`${info?.reason} ${info?.metadata.field ?? ""}`, { cause: error })
  }
}

/**
 * A retry cannot help a malformed or outdated request, or one that contradicts its list. It helps once an account, key,
 * version or clock is corrected.
 */
function isPermanent(info: Pick<ErrorInfo, "reason" | "metadata"> | undefined): boolean {
  const { field = "", code } = info?.metadata ?? {}
  if (info?.reason === "NOT_THE_CALLERS") return field === "bind" || field === "revoked_device_ids"
  return info?.reason === "INVALID_FIELD" && code !== "TOO_NEW"
}

/** An unknown state counts as ended. */
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
  ...(of.denial && { denial: denialShape(of.denial) }),
})
