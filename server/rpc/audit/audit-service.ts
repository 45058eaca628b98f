import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { AuditFilter } from "@signet/kernel/audit/filter"
import { parseId } from "@signet/kernel/ids"
import {
  AuditEvent_Outcome,
  type AuditEventSchema,
  type AuditService,
  type ListAuditEventsRequest,
} from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import { type AdminTransaction, administer, factsOf } from "../admin/administer.ts"
import { foundListPlace } from "../admin/found.ts"
import { pageAsked, pageFound } from "../page.ts"
import { auditOutcomeOf } from "../parse.ts"
import type { TokenDeps } from "../token/deps.ts"
import { auditEvent } from "./audit.ts"
import { countEvents } from "./audit-count.ts"
import { exportCheckpoints, exportLinks, type ListPlace } from "./audit-export.ts"
import { denialShape } from "./denial-shape.ts"
import { explainAccess, type RequirementOf } from "./explain-access.ts"

export function auditService(deps: TokenDeps, requirementOf: RequirementOf): ServiceImpl<typeof AuditService> {
  return {
    listAuditEvents: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const filter = filterOf(request, await listPlace(admin, request))
        const key = ["audit-events", JSON.stringify(filter)]
        const asked = pageAsked(deps.secrets, "aud", key, request)
        const found = (await admin.tx.audit.list(filter, asked)).map((event) => ({
          id: event.id,
          createdAtMs: event.occurredAtMs,
          event,
        }))
        const { page, nextPageToken } = pageFound(deps.secrets, key, request, found)
        return { auditEvents: page.map(({ event }) => auditEventShape(event)), nextPageToken }
      }),

    // Limited as a write, because it reads a thousand times as many events as a list.
    countAuditEvents: (request, context) =>
      administer(deps, context, "write", async (admin) => countEvents(admin, await listPlace(admin, request), request)),

    // Counted as a write, because each call appends an event.
    listAuditLinks: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const place = await listPlace(admin, { ...request, contextId: "" })
        const answer = await exportLinks(admin, place, request)
        const { appId, tenantId, contextId } = place
        const target = { type: "audit_chain", id: answer.chain }
        const facts = { ...factsOf(admin.caller), kind: "audit.exported", appId, tenantId, contextId, target } as const
        await admin.tx.audit.append(auditEvent(deps, context, admin.nowMs, facts))
        return answer
      }),

    listAuditCheckpoints: (request, context) =>
      administer(deps, context, "read", async (admin) =>
        exportCheckpoints(admin, await listPlace(admin, { ...request, contextId: "" }), request),
      ),

    explainAccess: (request, context) => explainAccess(deps, context, request, requirementOf),
  }
}

/** An administrator of the installation who names no place lists everything. Others list at most their own place. */
function listPlace(
  admin: AdminTransaction,
  asked: Pick<ListAuditEventsRequest, "appId" | "tenantId" | "contextId">,
): Promise<ListPlace> | ListPlace {
  const { appId, tenantId, contextId } = asked
  const isAnywhere = appId === "" && tenantId === "" && contextId === ""
  if (admin.isInstallation && isAnywhere) return { appId: null, tenantId: null, contextId: null }
  return foundListPlace(admin, { appId: appId || admin.caller.appId, tenantId, contextId })
}

const filterOf = (request: ListAuditEventsRequest, { appId, tenantId, contextId }: ListPlace): AuditFilter => ({
  appId,
  tenantId,
  contextId,
  kinds: request.kinds.toSorted(),
  outcome: auditOutcomeOf(request.outcome),
  principalId: parseId("prn", request.principalId) ?? null,
  targetType: request.targetType || null,
  targetId: request.targetId || null,
  fromMs: msOf(request.startTime),
  untilMs: msOf(request.endTime),
})

/** Events have millisecond times, so a time between two milliseconds is rounded. */
const msOf = (time: Timestamp | undefined): number | null => (time === undefined ? null : timestampMs(time))

const auditEventShape = (of: AuditEvent): MessageInitShape<typeof AuditEventSchema> => ({
  id: of.id,
  occurredAt: timestampFromMs(of.occurredAtMs),
  kind: of.kind,
  outcome: AuditEvent_Outcome[of.outcome],
  reason: of.reason === null ? Reason.REASON_UNSPECIFIED : Reason[of.reason],
  appId: of.appId ?? "",
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  actorPrincipalId: of.actorPrincipalId ?? "",
  subjectPrincipalId: of.subjectPrincipalId ?? "",
  subjectIdentityId: of.subjectIdentityId ?? "",
  sessionId: of.sessionId ?? "",
  ...(of.target === null ? {} : { target: of.target }),
  request: {
    id: of.request.id,
    route: of.request.route,
    ipTruncated: of.request.ipTruncated ?? "",
    isErased: of.request.isErased ?? false,
  },
  ...(of.denial && { denial: denialShape(of.denial) }),
})
