// Maps audit events to rows.
import type { AuditRow } from "@signet/kernel/audit/row"
import type { Selectable } from "kysely"
import { at, bytesOrNull } from "../sql.ts"
import type { AuditEventTable } from "./audit-schema.ts"

export const auditTypes = {
  id: "text",
  occurred_at: "timestamptz",
  kind: "text",
  outcome: "text",
  reason: "text",
  app_id: "text",
  tenant_id: "text",
  context_id: "text",
  actor_principal_id: "text",
  subject_principal_id: "text",
  subject_identity_id: "text",
  session_id: "text",
  target_type: "text",
  target_id: "text",
  request_id: "text",
  request_route: "text",
  key_owner: "text",
  personal_sealed: "bytea",
  stamp: "bytea",
} as const satisfies Record<keyof AuditEventTable, string>

export const fromAuditRow = (row: Selectable<AuditEventTable>): AuditRow => ({
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
  request: { id: row.request_id, route: row.request_route },
  keyOwner: row.key_owner,
  personalSealed: bytesOrNull(row.personal_sealed),
  stamp: bytesOrNull(row.stamp),
})

export const toAuditRow = (row: AuditRow): AuditEventTable => ({
  id: row.id,
  occurred_at: at(row.occurredAtMs),
  kind: row.kind,
  outcome: row.outcome,
  reason: row.reason,
  app_id: row.appId,
  tenant_id: row.tenantId,
  context_id: row.contextId,
  actor_principal_id: row.actorPrincipalId,
  subject_principal_id: row.subjectPrincipalId,
  subject_identity_id: row.subjectIdentityId,
  session_id: row.sessionId,
  target_type: row.target?.type ?? null,
  target_id: row.target?.id ?? null,
  request_id: row.request.id,
  request_route: row.request.route,
  key_owner: row.keyOwner,
  personal_sealed: row.personalSealed && Buffer.from(row.personalSealed),
  stamp: row.stamp && Buffer.from(row.stamp),
})
