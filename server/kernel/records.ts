// Records of the auth service. Times are milliseconds since the Unix epoch; null means never or none.
import type {
  AppId,
  ContextId,
  DeviceId,
  IdentityId,
  MembershipId,
  PrincipalId,
  ProviderAccountId,
  ProviderClientId,
  RefreshTokenId,
  SessionId,
  TenantId,
} from "./ids.ts"

export type Provider = "IDP_A" | "IDP_B" | "IDP_C"
export type Platform = "ANDROID" | "IOS" | "WEB"
export type PrincipalKind = "USER" | "SERVICE" | "AGENT" | "ACTOR"

export interface App {
  id: AppId
  name: string
  status: "ACTIVE" | "SUSPENDED" | "ARCHIVED"
  /** Audiences that clients may request access tokens for, besides the auth service's own. */
  audiences: readonly string[]
  /** The app's scopes, each for one audience. */
  scopes: readonly AppScope[]
  settings: AppSettings
  /** The installation's own app: at most one. Its administrators manage every app. */
  isInstallation: boolean
  createdAtMs: number
  updatedAtMs: number
}

export interface AppScope {
  /** For example "notes.read". Unique in the app. */
  key: string
  audience: string
  /** True: every active member holds it. False: only members whose membership names it. */
  isDefault: boolean
  /**
   * Keys of the app's permissions that a token with this scope may use, as far as its principal was granted them.
   * Absent: none.
   */
  permissions?: readonly string[]
}

export interface AppSettings {
  /** New users may sign in. */
  signupEnabled: boolean
  /** Maximum time between refreshes of a session, on the web and on devices. */
  sessionIdleSecondsWeb: number
  sessionIdleSecondsNative: number
  /** Maximum lifetime of a session, regardless of refreshes. */
  sessionAbsoluteSeconds: number
  /** How long a retry key returns the same successor. 0 to 86,400; 0 disables retry keys. */
  retryWindowSeconds: number
  /** Exact origins of the app's pages, for CORS and cookie mode. */
  allowedOrigins: readonly string[]
  /** Exact redirect addresses for magic links. */
  allowedRedirectUris: readonly string[]
  /** Only the client that requested a magic link can redeem it, with its code verifier. */
  requireSameDevice: boolean
  /** Users may change and delete their account from this app, which affects every app. */
  managesIdentity: boolean
}

export interface ProviderClient {
  id: ProviderClientId
  appId: AppId
  provider: Provider
  platform: Platform
  status: "ACTIVE" | "DISABLED"
  /** The app's client id at the provider. */
  clientId: string
  /** Accepted values of `iss`. */
  issuers: readonly string[]
  /** The issuer that account keys are stored under. */
  canonicalIssuer: string
  /** Accepted values of `aud`. */
  audiences: readonly string[]
  /** Accepted values of `azp`, if a token has one. */
  authorizedParties: readonly string[]
  /** How the provider's token carries the nonce. */
  nonceMode: "RAW" | "SHA256_HEX" | "SHA256_B64URL"
  requireNonce: boolean
  /** Accepted hosted domains (`hd`); empty for all. */
  hostedDomains: readonly string[]
  signupEnabled: boolean
  redirectUris: readonly string[]
  /** The provider's JWK set. Never taken from a request. */
  jwksUri: string
  /** Where codes are exchanged; null if the client accepts no codes. */
  tokenEndpoint: string | null
  /** The client's secret, sealed under the service's key; null for public clients. */
  clientSecretSealed: Uint8Array | null
  /** The provider's team or project; null for none. */
  providerTenant: string | null
  /** The id (`kid`) of the key that signs an IDP_B client secret; null for other providers. */
  clientKeyId: string | null
  /** Where the provider's tokens are revoked; null if none are stored. */
  revocationEndpoint: string | null
  /** IDP_C: the project's URL without a path; the issuer is `<project_url>/auth/v1`. Null for other providers. */
  projectUrl: string | null
  /** IDP_C: the project's HS256 secret, sealed; null if published keys verify its tokens. */
  tokenSecretSealed: Uint8Array | null
  /** Distinguishes several clients of one provider and platform; empty for the default. */
  connection: string
  /** Name on a sign-in page; empty for none. */
  displayName: string
  /** Where browsers are redirected to sign in; null if the app does not offer this. */
  authorizationEndpoint: string | null
  /** Scopes to request there; empty for the provider's default. */
  scopes: readonly string[]
  /** If true, an authorization response without `iss` (RFC 9207) is refused. */
  requiresResponseIssuer: boolean
  createdAtMs: number
  updatedAtMs: number
}

export interface Identity {
  id: IdentityId
  status: "ACTIVE" | "DELETION_PENDING" | "DELETED"
  primaryEmail: string | null
  /** When a DELETION_PENDING identity is erased; null otherwise. */
  deletesAtMs: number | null
  createdAtMs: number
  updatedAtMs: number
}

/** Identifies a provider account. The email is not part of it. */
export interface AccountKey {
  provider: Provider
  issuer: string
  subject: string
  providerTenant: string | null
}

export interface ProviderAccount extends AccountKey {
  id: ProviderAccountId
  identityId: IdentityId
  email: string | null
  /** The address is the provider's relay for a user who hides theirs. */
  isRelayEmail: boolean
  /** False if the provider reported that the user no longer accepts mail at the address. */
  isContactable: boolean
  /** The provider's refresh token, sealed; revoked when the account is deleted. Null if there was none. */
  refreshTokenSealed: Uint8Array | null
  status: "LINKED" | "REVOKED" | "BLOCKED" | "UNLINKED"
  createdAtMs: number
}

export interface Principal {
  id: PrincipalId
  kind: PrincipalKind
  identityId: IdentityId | null
  status: "ACTIVE" | "SUSPENDED" | "LOCKED" | "DEACTIVATED" | "DELETED"
  /** Set only while LOCKED. */
  lock?: PrincipalLock
}

export interface PrincipalLock {
  expiresAtMs: number
  /** The administrator's free text; may be empty. */
  reason: string
}

export interface Membership {
  id: MembershipId
  principalId: PrincipalId
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  status: "INVITED" | "REQUESTED" | "ACTIVE" | "SUSPENDED" | "REMOVED" | "DECLINED" | "REJECTED" | "EXPIRED"
  profile: { name?: string; email?: string }
  /** Scopes of this member besides the app's defaults. */
  scopes: readonly string[]
  createdAtMs: number
  updatedAtMs: number
}

export interface Device {
  deviceId: string
  label: string
  os: string
  appVersion: string
}

export interface Session {
  id: SessionId
  principalId: PrincipalId
  identityId: IdentityId
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  providerAccountId: ProviderAccountId
  providerClientId: ProviderClientId
  platform: Platform
  /** Kind of the provider; becomes the claim `amr`. */
  amr: readonly string[]
  /** The audiences of the sign-in, used by a refresh that names none. */
  audiences: readonly string[]
  /** When the user authenticated at the provider. Null is never recent enough for a step-up. */
  authTimeMs: number | null
  status: "ACTIVE" | "REVOKED" | "COMPROMISED"
  createdAtMs: number
  lastRefreshedAtMs: number | null
  idleExpiresAtMs: number
  absoluteExpiresAtMs: number
  /** Number of refreshes. */
  rotation: number
  device: Device
  /** The messaging device that the session is bound to; the claim `did` of its access tokens. */
  boundDeviceId: DeviceId | null
  userAgent: string
  cookieMode: boolean
  revokedAtMs: number | null
  revokeReason: string | null
}

export interface RefreshToken {
  id: RefreshTokenId
  sessionId: SessionId
  /** HMAC-SHA-256 of the token under the pepper: 32 bytes. */
  tokenHash: Uint8Array
  /** Shared by all tokens of one sign-in. */
  familyId: string
  previousTokenId: RefreshTokenId | null
  createdAtMs: number
  usedAtMs: number | null
  rotatedAtMs: number | null
  expiresAtMs: number
  revokedAtMs: number | null
  /** HMAC of the retry key of the rotation; null if there was none. */
  retryKeyHash: Uint8Array | null
  /**
   * The successor, sealed under the token and the retry key. Null if there was no retry key, or once it is no longer
   * needed.
   */
  successorSealed: Uint8Array | null
  /** When the successor was first used. */
  confirmedAtMs: number | null
}
