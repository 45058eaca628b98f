import type { Reason } from "../errors.ts"
import type { AppId, AuditEventId, ContextId, IdentityId, PrincipalId, SessionId, TenantId } from "../ids.ts"

/** What happened. The list grows with the capabilities; a kind never changes its meaning. */
export type AuditKind =
  | "login.succeeded"
  | "login.failed"
  | "identity.created"
  | "provider_account.linked"
  | "session.created"
  | "session.refreshed"
  | "session.refresh_retried"
  | "session.refresh_reuse"
  | "session.revoked"
  | "token.issued"
  | "token.exchanged"
  | "token.revoked"
  | "pat.created"
  | "pat.used"
  | "pat.misused"
  | "pat.revoked"
  | "pat.leaked"
  | "service_account.created"
  | "service_account.disabled"
  | "service_account.enabled"
  | "service_account.secret_added"
  | "service_account.secret_rotated"
  | "service_account.secret_revoked"
  | "service_account.key_added"
  | "service_account.key_revoked"
  | "service_account.envelope_key_added"
  | "service_account.envelope_key_revoked"
  | "delegation_policy.created"
  | "delegation_policy.revoked"
  | "delegation.created"
  | "delegation.used"
  | "delegation.denied"
  | "delegation.revoked"
  | "app.created"
  | "app.updated"
  | "app.suspended"
  | "app.resumed"
  | "app.archived"
  | "provider_client.created"
  | "provider_client.updated"
  | "provider_client.disabled"
  | "provider_client.enabled"
  | "tenant.created"
  | "tenant.updated"
  | "tenant.suspended"
  | "tenant.resumed"
  | "tenant.archived"
  | "context.created"
  | "context.updated"
  | "context.suspended"
  | "context.resumed"
  | "context.archived"
  | "membership.created"
  | "membership.invited"
  | "membership.requested"
  | "membership.accepted"
  | "membership.declined"
  | "membership.approved"
  | "membership.rejected"
  | "membership.updated"
  | "membership.suspended"
  | "membership.resumed"
  | "membership.removed"
  | "invitation.revoked"
  | "permission.created"
  | "permission.updated"
  | "permission.deleted"
  | "role.created"
  | "role.updated"
  | "role.archived"
  | "grant.created"
  | "grant.revoked"
  | "principal.suspended"
  | "principal.resumed"
  | "principal.deactivated"
  | "principal.reactivated"
  | "provider_account.unlinked"
  | "provider_account.conflict"
  | "provider_account.revoked"
  | "provider_account.updated"
  | "provider_account.blocked"
  | "provider_account.unblocked"
  | "identity.exported"
  | "identity.deletion_requested"
  | "identity.deletion_canceled"
  | "identity.deleted"
  | "admin.created"
  | "device.registered"
  | "device.bound"
  | "device.renewed"
  | "device.revoked"
  | "key_package.claimed"
  | "conversation.created"
  | "conversation.quarantined"
  | "conversation.recovered"
  | "conversation.closed"
  | "conversation.fork_reported"
  | "membership_proof.issued"
  | "directive.issued"
  | "directive.done"
  | "welcome.consumed"
  | "attachment.completed"
  | "attachment.deleted"
  | "messaging_place.changed"
  | "authz.denied"
  | "key.published"
  | "key.activated"
  | "key.retired"
  | "key.compromised"
  | "audit.checkpoint"
  | "audit.exported"
  | "audit.dropped"
  | "ratelimit.locked_out"

/** Who did what to whom, and what came of it. Holds no secret, no token and no text of a person's. */
export interface AuditEvent {
  id: AuditEventId
  occurredAtMs: number
  kind: AuditKind
  outcome: "SUCCESS" | "FAILURE" | "DENIED"
  reason: Reason | null
  appId: AppId | null
  tenantId: TenantId | null
  contextId: ContextId | null
  /** Whose call it was. */
  actorPrincipalId: PrincipalId | null
  /** Whose affairs it touched. */
  subjectPrincipalId: PrincipalId | null
  subjectIdentityId: IdentityId | null
  sessionId: SessionId | null
  target: { type: string; id: string } | null
  request: {
    id: string
    route: string
    ipTruncated: string | null
    /** What named a person here was erased with them. */
    isErased?: true
  }
}
