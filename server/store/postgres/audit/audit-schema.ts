// The kysely types of the audit's tables.
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { AppId, AuditEventId, ContextId, IdentityId, PrincipalId, SessionId, TenantId } from "@signet/kernel/ids"

export interface AuditTables {
  audit_event: AuditEventTable
  audit_data_key: { owner: string; key_sealed: Uint8Array | null; created_at: Date; erased_at: Date | null }
  audit_pending: { event_id: AuditEventId }
  audit_link: AuditLinkTable
  audit_checkpoint: { number: number; created_at: Date; jws: string; stamp: Uint8Array }
  audit_checkpoint_head: { number: number; shard: string; seq: number; hash: Uint8Array }
  audit_start: { shard: string; seq: number; hash: Uint8Array; dropped_at: Date; stamp: Uint8Array }
  audit_chain: { id: number; version: number }
}

export interface AuditEventTable {
  id: AuditEventId
  occurred_at: Date
  kind: AuditEvent["kind"]
  outcome: AuditEvent["outcome"]
  reason: AuditEvent["reason"]
  app_id: AppId | null
  tenant_id: TenantId | null
  context_id: ContextId | null
  actor_principal_id: PrincipalId | null
  subject_principal_id: PrincipalId | null
  subject_identity_id: IdentityId | null
  session_id: SessionId | null
  target_type: string | null
  target_id: string | null
  request_id: string
  request_route: string
  key_owner: string | null
  personal_sealed: Uint8Array | null
  stamp: Uint8Array | null
}

export interface AuditLinkTable {
  shard: string
  seq: number
  event_id: AuditEventId
  event_hash: Uint8Array
  linked_at: Date
  hash: Uint8Array
}
