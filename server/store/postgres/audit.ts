import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Page } from "@signet/kernel/machine-ports"
import type { AuditLog } from "@signet/kernel/ports"
import { type Selectable, sql } from "kysely"
import { only } from "./page.ts"
import type { AuditEventTable } from "./schema.ts"
import { at, atOrNull, type Database, insertInto, run } from "./sql.ts"

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

    async list(filter, { size, before }) {
      const { kinds, principalId } = filter
      const rows = await db
        .selectFrom("audit_event")
        .selectAll()
        // The place is a text of its own each, so that its index serves.
        .where(only("app_id", filter.appId))
        .where(only("tenant_id", filter.tenantId))
        .where(sql<boolean>`occurred_at >= coalesce(${atOrNull(filter.fromMs)}::timestamptz, '-infinity')`)
        .where(sql<boolean>`occurred_at < coalesce(${atOrNull(filter.untilMs)}::timestamptz, 'infinity')`)
        .where(beyond(before))
        .where(same("context_id", filter.contextId))
        .where(sql<boolean>`(${kinds.length === 0}::boolean or kind = any(${[...kinds]}::text[]))`)
        .where(same("outcome", filter.outcome))
        .where(({ or }) => or([same("actor_principal_id", principalId), same("subject_principal_id", principalId)]))
        .where(same("target_type", filter.targetType))
        .where(same("target_id", filter.targetId))
        .orderBy("occurred_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      return rows.map(fromRow)
    },
  }
}

// One text whatever is filtered by: texts are prepared on every connection, and only so many are.
const same = (column: keyof AuditEventTable, value: string | null) =>
  sql<boolean>`(${value}::text is null or ${sql.ref(column)} = ${value})`

const beyond = (before: Page["before"]) =>
  sql<boolean>`(occurred_at, id) < (coalesce(${atOrNull(before?.createdAtMs ?? null)}::timestamptz, 'infinity'), ${before?.id ?? ""})`

const fromRow = (row: Selectable<AuditEventTable>): AuditEvent => ({
  id: row.id,
  occurredAtMs: row.occurred_at.getTime(),
  kind: row.kind,
  outcome: row.outcome,
  reason: row.reason,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  actorPrincipalId: row.actor_principal_id,
  subjectPrincipalId: row.subject_principal_id,
  subjectIdentityId: row.subject_identity_id,
  sessionId: row.session_id,
  target: row.target_type === null || row.target_id === null ? null : { type: row.target_type, id: row.target_id },
  request: { id: row.request_id, route: row.request_route, ipTruncated: row.request_ip_truncated },
})
