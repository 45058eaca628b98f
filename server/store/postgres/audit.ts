import type { AuditLog } from "@signet/kernel/ports"
import type { AuditEventTable } from "./schema.ts"
import { at, type Database, insertInto, run } from "./sql.ts"

const columns = [
  "id",
  "occurred_at",
  "kind",
  "outcome",
  "reason",
  "app_id",
  "tenant_id",
  "context_id",
  "actor_principal_id",
  "subject_principal_id",
  "subject_identity_id",
  "session_id",
  "target_type",
  "target_id",
  "request_id",
  "request_route",
  "request_ip_truncated",
] as const satisfies readonly (keyof AuditEventTable)[]

const insertText = insertInto("audit_event", columns)

export function auditLog(db: Database): AuditLog {
  return {
    async append(event) {
      const row: AuditEventTable = {
        id: event.id,
        occurred_at: at(event.occurredAtMs),
        kind: event.kind,
        outcome: event.outcome,
        reason: event.reason,
        app_id: event.appId,
        tenant_id: event.tenantId,
        context_id: event.contextId,
        actor_principal_id: event.actorPrincipalId,
        subject_principal_id: event.subjectPrincipalId,
        subject_identity_id: event.subjectIdentityId,
        session_id: event.sessionId,
        target_type: event.target?.type ?? null,
        target_id: event.target?.id ?? null,
        request_id: event.request.id,
        request_route: event.request.route,
        request_ip_truncated: event.request.ipTruncated,
      }
      await run(
        db,
        insertText,
        columns.map((column) => row[column]),
      )
    },
  }
}
