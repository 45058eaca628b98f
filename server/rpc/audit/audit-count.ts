// Counts the audit events of a place in buckets of time.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { type EventCount, mostEventsRead, parseBuckets } from "@signet/kernel/audit/count"
import { Refused } from "@signet/kernel/errors"
import {
  AuditEvent_Outcome,
  type AuditEventCountSchema,
  type CountAuditEventsRequest,
  type CountAuditEventsResponseSchema,
} from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import type { AdminTransaction } from "../admin/administer.ts"
import { auditOutcomeOf, countGroupOf } from "../parse.ts"
import type { ListPlace } from "./audit-export.ts"

/** @throws Refused INVALID_FIELD */
export async function countEvents(
  { tx }: AdminTransaction,
  { appId, tenantId, contextId }: ListPlace,
  request: CountAuditEventsRequest,
): Promise<MessageInitShape<typeof CountAuditEventsResponseSchema>> {
  const [fromMs, untilMs] = [msOf(request.startTime, "start_time"), msOf(request.endTime, "end_time")]
  const { counts, countedFromMs } = await tx.audit.count({
    appId,
    tenantId,
    contextId,
    kinds: request.kinds,
    outcome: auditOutcomeOf(request.outcome),
    buckets: parseBuckets(fromMs, untilMs, request.bucketSeconds),
    groupBy: request.groupBy.map(countGroupOf),
    most: mostEventsRead,
  })
  return { counts: counts.map(countShape), countedStartTime: timestampFromMs(countedFromMs) }
}

function msOf(time: Timestamp | undefined, field: string): number {
  if (time === undefined) throw new Refused("INVALID_FIELD", { metadata: { field } })
  return timestampMs(time)
}

const countShape = ({
  startMs,
  kind,
  outcome,
  reason,
  count,
}: EventCount): MessageInitShape<typeof AuditEventCountSchema> => ({
  startTime: timestampFromMs(startMs),
  kind: kind ?? "",
  outcome: outcome === null ? AuditEvent_Outcome.OUTCOME_UNSPECIFIED : AuditEvent_Outcome[outcome],
  reason: reason === null ? Reason.REASON_UNSPECIFIED : Reason[reason],
  count,
})
