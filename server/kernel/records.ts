// What the service keeps, as the rules see it. Times are milliseconds since the Unix epoch; null means never or none.
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
  /** Audiences that the app's clients may ask access tokens for, besides the auth service's own. */
  audiences: readonly string[]
  /** The scopes that exist in the app, each for one audience. */
  scopes: readonly AppScope[]
  settings: AppSettings
  /** The app of the installation's own administrators: there is at most one, and its administrators manage every app. */
  isInstallation: boolean
  createdAtMs: number
  updatedAtMs: number
}

export interface AppScope {
  /** Such as "notes.read"; unique in the app. */
  key: string
  audience: string
  /** Every active member holds it; else those whose membership names it. */
  isDefault: boolean
  /** Keys of the app's permissions: what a token with the scope may use of what its principal was granted. Absent: nothing. */
  permissions?: readonly string[]
}

export interface AppSettings {
  /** New people may sign in. */
  signupEnabled: boolean
  /** A session ends when it was not refreshed for this long: on the web, and on devices. */
  sessionIdleSecondsWeb: number
  sessionIdleSecondsNative: number
  /** A session ends then, however often it is refreshed. */
  sessionAbsoluteSeconds: number
  /** How long a retry key brings the same successor again; 0 switches retry keys off. 0 to 86,400. */
  retryWindowSeconds: number
  /** Origins of the app's pages: exact, as browsers send them. For CORS and cookie mode. */
  allowedOrigins: readonly string[]
  /** Where a magic link may lead: exact addresses. */
  allowedRedirectUris: readonly string[]
  /** A magic link is confirmed only by the client that asked for it, which shows its code verifier. */
  requireSameDevice: boolean
  /** People change and end their account from this app: what they do there counts in every app. */
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
  /** The one that account keys are stored under. */
  canonicalIssuer: string
  /** Accepted values of `aud`. */
  audiences: readonly string[]
  /** Accepted values of `azp`, when a token has one. */
  authorizedParties: readonly string[]
  /** How the provider's token carries the nonce. */
  nonceMode: "RAW" | "SHA256_HEX" | "SHA256_B64URL"
  requireNonce: boolean
  /** Only people of these hosted domains (`hd`); empty for all. */
  hostedDomains: readonly string[]
  signupEnabled: boolean
  redirectUris: readonly string[]
  /** Where the provider publishes its keys. Never from a request. */
  jwksUri: string
  /** Where codes are traded; null where the client takes none. */
  tokenEndpoint: string | null
  /** The client's secret, sealed under the service's key; null for public clients. */
  clientSecretSealed: Uint8Array | null
  /** The provider's team or project; null for none. */
  providerTenant: string | null
  /** The id of the key that an IDP_B client secret is signed with (`kid`); null for other providers. */
  clientKeyId: string | null
  /** Where the provider's tokens are revoked; null where none are kept. */
  revocationEndpoint: string | null
  /** IDP_C: the project's address, without a path; the issuer is `<project_url>/auth/v1`. Null for other providers. */
  projectUrl: string | null
  /** IDP_C: the project's HS256 secret, sealed; null where its tokens are verified with published keys. */
  tokenSecretSealed: Uint8Array | null
  /** Tells several clients of one provider and platform apart; empty for the default. */
  connection: string
  /** What a sign-in page calls it; empty for none. */
  displayName: string
  /** Where browsers are sent to sign in; null where the app does not offer sign-in by redirect. */
  authorizationEndpoint: string | null
  /** Asked for there; empty for the provider's usual ones. */
  scopes: readonly string[]
  /** An authorization response without `iss` (RFC 9207) is refused. */
  requiresResponseIssuer: boolean
  createdAtMs: number
  updatedAtMs: number
}

export interface Identity {
  id: IdentityId
  status: "ACTIVE" | "DELETION_PENDING" | "DELETED"
  primaryEmail: string | null
  /** When a DELETION_PENDING one is erased; null otherwise. */
  deletesAtMs: number | null
  createdAtMs: number
  updatedAtMs: number
}

/** What a provider account is found by. The email is not part of it. */
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
  /** The address is the provider's relay for a person who hides theirs. */
  isRelayEmail: boolean
  /** The person takes mail at it, as far as the provider told. */
  isContactable: boolean
  /** The provider's own refresh token, sealed; revoked when the account is deleted. Null where none came. */
  refreshTokenSealed: Uint8Array | null
  status: "LINKED" | "REVOKED" | "BLOCKED" | "UNLINKED"
  createdAtMs: number
}

export interface Principal {
  id: PrincipalId
  kind: PrincipalKind
  identityId: IdentityId | null
  status: "ACTIVE" | "SUSPENDED" | "LOCKED" | "DEACTIVATED" | "DELETED"
  /** Only while LOCKED. */
  lock?: PrincipalLock
}

export interface PrincipalLock {
  expiresAtMs: number
  /** As the administrator wrote it; may be empty. */
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
  /** Scopes that this member holds besides the app's defaults. */
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
  /** The provider kind; the claim `amr`. */
  amr: readonly string[]
  /** The audiences of the sign-in, which a refresh that names none gets again. */
  audiences: readonly string[]
  /** When the person authenticated at the provider; null is never recent enough for a step-up. */
  authTimeMs: number | null
  status: "ACTIVE" | "REVOKED" | "COMPROMISED"
  createdAtMs: number
  lastRefreshedAtMs: number | null
  idleExpiresAtMs: number
  absoluteExpiresAtMs: number
  /** How often it was refreshed. */
  rotation: number
  device: Device
  /** The messaging device that the session is bound to: access tokens carry it as `did`. */
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
  /** All tokens that descend from one sign-in. */
  familyId: string
  previousTokenId: RefreshTokenId | null
  createdAtMs: number
  usedAtMs: number | null
  rotatedAtMs: number | null
  expiresAtMs: number
  revokedAtMs: number | null
  /** HMAC of the retry key that it was rotated with; null when none came. */
  retryKeyHash: Uint8Array | null
  /** Its successor, sealed under the token and the retry key; null when none came, and once it has no more use. */
  successorSealed: Uint8Array | null
  /** When its successor was first presented itself. */
  confirmedAtMs: number | null
}
