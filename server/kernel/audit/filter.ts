import type { AppId, ContextId, PrincipalId, TenantId } from "../ids.ts"
import type { AuditEvent } from "./event.ts"

/** Selects audit events. A null field matches everything. */
export interface AuditFilter {
  readonly appId: AppId | null
  readonly tenantId: TenantId | null
  readonly contextId: ContextId | null
  /** Empty matches all kinds; an unknown kind matches nothing. */
  readonly kinds: readonly string[]
  readonly outcome: AuditEvent["outcome"] | null
  /** Matches the actor or the subject. */
  readonly principalId: PrincipalId | null
  readonly targetType: string | null
  readonly targetId: string | null
  /** Inclusive. */
  readonly fromMs: number | null
  /** Exclusive. */
  readonly untilMs: number | null
}
