// What the service keeps of machines and of credentials that are exchanged. Times are milliseconds since the Unix
// epoch; null means never or none.
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

/** A personal access token: exchanged for access tokens, never a bearer token itself. Only its keyed hash is kept. */
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
  /** The token's last four characters, for people to tell it by. */
  last4: string
  allowedAudiences: readonly string[]
  scopes: readonly string[]
  createdAtMs: number
  expiresAtMs: number
  /** Kept to the minute. */
  lastUsedAtMs: number | null
  revokedAtMs: number | null
  /** LEAKED when somebody who found it handed it in. */
  revokeReason: "REVOKED" | "LEAKED" | "PRINCIPAL_ENDED" | null
}

export type ClientAuthMethod = "client_secret_basic" | "client_secret_post" | "private_key_jwt"

/** A service: a principal of kind SERVICE with credentials of its own. */
export interface ServiceAccount {
  id: ServiceAccountId
  principalId: PrincipalId
  appId: AppId
  tenantId: TenantId | null
  name: string
  /** What it calls itself at the token endpoint: its id, and so never used again. */
  clientId: string
  status: "ACTIVE" | "DISABLED"
  authMethods: readonly ClientAuthMethod[]
  /** What it *is*: audiences that are its own. Unique in the installation, set by an administrator. */
  ownedAudiences: readonly string[]
  /** What it may call. */
  allowedAudiences: readonly string[]
  /** The most that it may be given, over all audiences. */
  scopes: readonly string[]
  /** What it gets when it asks for no scope. */
  defaultScopes: readonly string[]
  createdAtMs: number
}

export interface ServiceSecret {
  id: ServiceSecretId
  serviceAccountId: ServiceAccountId
  secretHash: Uint8Array
  /** Its last four characters. */
  hint: string
  createdAtMs: number
  /** Exact: it serves before, and not at it. Rotation brings it forward. */
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

/** A public key that a service's envelopes are signed with: P-256 only. */
export interface EnvelopeKey {
  /** RFC 7638 thumbprint. No two accounts have one. */
  kid: string
  serviceAccountId: ServiceAccountId
  x: string
  y: string
  /** Where it may post: patterns of mailboxes. */
  mailboxes: readonly string[]
  createdAtMs: number
  revokedAtMs: number | null
}

/** What a service may do for users, in one app: set by an administrator. */
export interface DelegationPolicy {
  id: DelegationPolicyId
  appId: AppId
  tenantId: TenantId | null
  actorPrincipalId: PrincipalId
  audiences: readonly string[]
  scopes: readonly string[]
  /** The most that a delegated token lives; never more than 300 s. */
  maxSeconds: number
  /** Users may give standing delegations under it. */
  allowStanding: boolean
  createdAtMs: number
  revokedAtMs: number | null
}

/** A user's leave for one service to act while the user is away; at most 30 days. */
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

/** What must not be accepted any more although its signature and its times are good. Kept until it would expire anyway. */
export type Revocation =
  | { kind: "TOKEN"; key: string; expiresAtMs: number }
  | { kind: "SESSION"; key: SessionId; expiresAtMs: number }
  | { kind: "CREDENTIAL"; key: PatId | ServiceSecretId | DelegationId | string; expiresAtMs: number }
  | ({ kind: "PRINCIPAL"; key: PrincipalId; expiresAtMs: number } & Lifted)
  | ({ kind: "APP"; key: AppId; expiresAtMs: number } & Lifted)
  | ({ kind: "TENANT"; key: TenantId; expiresAtMs: number } & Lifted)
  | ({ kind: "CONTEXT"; key: ContextId; expiresAtMs: number } & Lifted)
  /** A signing key that is no longer ours alone. */
  | { kind: "KEY"; key: string; expiresAtMs: number }
  /** Every access token that was issued before. */
  | { kind: "ISSUER_EPOCH"; key: "all"; expiresAtMs: number; issuedBeforeMs: number }
  | AuthorityMinimum

/** Set once it acts again: tokens that were issued from then on count. */
interface Lifted {
  issuedBeforeMs?: number
}

/**
 * Authority was taken away. AUTHORITY: tokens of the principal in the app whose principal part is below minVersion are
 * PERMISSIONS_STALE. POLICY: tokens of the app whose policy part is. The parts are those of AuthorityVersions: in a token
 * perm_ver - pol_ver, and pol_ver.
 */
export type AuthorityMinimum =
  | { kind: "AUTHORITY"; key: PrincipalId; appId: AppId; minVersion: number; expiresAtMs: number }
  | { kind: "POLICY"; key: AppId; minVersion: number; expiresAtMs: number }
