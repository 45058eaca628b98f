import type { AppId, ContextId, IdentityId, PrincipalId, SessionId, TenantId } from "../ids.ts"
import type { PrincipalKind } from "../records.ts"

export type AuthMethod =
  | "USER_SESSION"
  | "CLIENT_CREDENTIALS"
  | "PERSONAL_ACCESS_TOKEN"
  | "ON_BEHALF_OF"
  | "ACTOR_ENVELOPE"
  | "INTERNAL_JOB"

export interface PrincipalRef {
  readonly id: PrincipalId
  readonly kind: PrincipalKind
}

export interface Delegation {
  readonly actor: PrincipalRef
  /** The acting service's client id, by which requirements may name it. */
  readonly actorClientId: string
  readonly jobId: string
  readonly originSessionId: SessionId | null
  readonly expiresAtMs: number
  /** How many services stand between the user and the caller: 1 for one. */
  readonly depth: number
}

/** Who is calling. Built from a verified credential, frozen, handed to the authorizer and to the handler. */
export interface AuthContext {
  readonly principal: PrincipalRef
  readonly identityId: IdentityId | null
  readonly appId: AppId
  readonly tenantId: TenantId | null
  readonly contextId: ContextId | null
  readonly sessionId: SessionId | null
  readonly tokenId: string | null
  readonly credentialId: string | null
  readonly issuer: string
  readonly audience: string
  readonly scopes: ReadonlySet<string>
  readonly roles: ReadonlySet<string>
  readonly permissions: ReadonlySet<string>
  readonly method: AuthMethod
  readonly actor: PrincipalRef | null
  readonly delegation: Delegation | null
  readonly claims: Readonly<Record<string, unknown>>
  /** When the user signed in; null for services. */
  readonly authTimeMs: number | null
  readonly expiresAtMs: number
  readonly permVer: number
}
