// Records of service accounts, exchanged credentials and revocations. Times are milliseconds since the Unix epoch; null
// means never or none.
import type {
  AppId,
  ContextId,
  DelegationId,
  DelegationPolicyId,
  IdentityId,
  PatId,
  PrincipalId,
  ServiceAccountId,
  ServiceSecretId,
  SessionId,
  TenantId,
} from "../ids.ts"

/**
 * A personal access token. It is exchanged for access tokens and is not a bearer token itself. Only its keyed hash is
 * stored.
 */
export interface Pat {
  id: PatId
  principalId: PrincipalId
  identityId: IdentityId
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  name: string
  /** HMAC-SHA-256 of the token under the pepper: 32 bytes. */
  tokenHash: Uint8Array
  /** The token's last four characters, so that users can recognize it. */
  last4: string
  allowedAudiences: readonly string[]
  scopes: readonly string[]
  createdAtMs: number
  expiresAtMs: number
  /** Accurate to the minute. */
  lastUsedAtMs: number | null
  revokedAtMs: number | null
  /** LEAKED: someone found and reported it. */
  revokeReason: "REVOKED" | "LEAKED" | "PRINCIPAL_ENDED" | null
}

export type ClientAuthMethod = "client_secret_basic" | "client_secret_post" | "private_key_jwt"

/** A service: a principal of kind SERVICE with its own credentials. */
export interface ServiceAccount {
  id: ServiceAccountId
  principalId: PrincipalId
  appId: AppId
  tenantId: TenantId | null
  name: string
  /** Client id at the token endpoint. It is the account's id and never reused. */
  clientId: string
  status: "ACTIVE" | "DISABLED"
  authMethods: readonly ClientAuthMethod[]
  /** Audiences that the service itself is. Unique in the installation; set by an administrator. */
  ownedAudiences: readonly string[]
  /** Audiences that it may call. */
  allowedAudiences: readonly string[]
  /** The maximum scopes of its tokens, over all audiences. */
  scopes: readonly string[]
  /** The scopes of a token request that names none. */
  defaultScopes: readonly string[]
  createdAtMs: number
}

export interface ServiceSecret {
  id: ServiceSecretId
  serviceAccountId: ServiceAccountId
  secretHash: Uint8Array
  /** The secret's last four characters. */
  hint: string
  createdAtMs: number
  /** Exclusive. A rotation moves it earlier. */
  expiresAtMs: number
  lastUsedAtMs: number | null
  revokedAtMs: number | null
}

/** A public key for private_key_jwt (RFC 7523): P-256 only. */
export interface ServiceKey {
  serviceAccountId: ServiceAccountId
  /** RFC 7638 thumbprint. */
  kid: string
  x: string
  y: string
  createdAtMs: number
  revokedAtMs: number | null
}

/** A public key that verifies a service's envelopes: P-256 only. */
export interface EnvelopeKey {
  /** RFC 7638 thumbprint. Unique over all accounts. */
  kid: string
  serviceAccountId: ServiceAccountId
  x: string
  y: string
  /** Patterns of the mailboxes that it may post to. */
  mailboxes: readonly string[]
  createdAtMs: number
  revokedAtMs: number | null
}

/** The rights of a service to act on behalf of users in one app. Set by an administrator. */
export interface DelegationPolicy {
  id: DelegationPolicyId
  appId: AppId
  tenantId: TenantId | null
  actorPrincipalId: PrincipalId
  audiences: readonly string[]
  scopes: readonly string[]
  /** Maximum lifetime of a delegated token; at most 300 s. */
  maxSeconds: number
  /** Users may grant standing delegations under it. */
  allowStanding: boolean
  createdAtMs: number
  revokedAtMs: number | null
}

/** A user's permission for one service to act in the user's absence; at most 30 days. */
export interface StandingDelegation {
  id: DelegationId
  policyId: DelegationPolicyId
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  subjectPrincipalId: PrincipalId
  actorPrincipalId: PrincipalId
  audiences: readonly string[]
  scopes: readonly string[]
  createdAtMs: number
  expiresAtMs: number
  revokedAtMs: number | null
}

/** A revoked object whose signature and times are still valid. Stored until the object would expire. */
export type Revocation =
  | { kind: "TOKEN"; key: string; expiresAtMs: number }
  | { kind: "SESSION"; key: SessionId; expiresAtMs: number }
  | { kind: "CREDENTIAL"; key: PatId | ServiceSecretId | DelegationId | string; expiresAtMs: number }
  | ({ kind: "PRINCIPAL"; key: PrincipalId; expiresAtMs: number } & Lifted)
  | ({ kind: "APP"; key: AppId; expiresAtMs: number } & Lifted)
  | ({ kind: "TENANT"; key: TenantId; expiresAtMs: number } & Lifted)
  | ({ kind: "CONTEXT"; key: ContextId; expiresAtMs: number } & Lifted)
  /** A signing key that was compromised. */
  | { kind: "KEY"; key: string; expiresAtMs: number }
  /** All access tokens issued before a time. */
  | { kind: "ISSUER_EPOCH"; key: "all"; expiresAtMs: number; issuedBeforeMs: number }
  | AuthorityMinimum

/** Set when the revocation is lifted: tokens issued from then on are valid. */
interface Lifted {
  issuedBeforeMs?: number
}

/**
 * Reduced authority. AUTHORITY: tokens of the principal in the app whose principal part is below minVersion are
 * PERMISSIONS_STALE. POLICY: tokens of the app whose policy part is below it. The parts are those of AuthorityVersions:
 * perm_ver - pol_ver, and pol_ver.
 */
type AuthorityMinimum =
  | { kind: "AUTHORITY"; key: PrincipalId; appId: AppId; minVersion: number; expiresAtMs: number }
  | { kind: "POLICY"; key: AppId; minVersion: number; expiresAtMs: number }
