import type { AppId, ContextId, PrincipalId, TenantId } from "../ids.ts"
import type { AuditEvent } from "./event.ts"

/** Which events. Null for what does not narrow it. */
export interface AuditFilter {
  readonly appId: AppId | null
  readonly tenantId: TenantId | null
  readonly contextId: ContextId | null
  /** Empty for all; those that are no kinds are met by nothing. */
  readonly kinds: readonly string[]
  readonly outcome: AuditEvent["outcome"] | null
  /** Whose call it was, or whose affairs it touched. */
  readonly principalId: PrincipalId | null
  readonly targetType: string | null
  readonly targetId: string | null
  /** The first millisecond. */
  readonly fromMs: number | null
  /** The first millisecond that is not in it any more. */
  readonly untilMs: number | null
}
