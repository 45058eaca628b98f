// Where the kernel stops: what the handlers are handed to act with. Implemented by server/store, server/keys and
// server/providers, and put together by the programs.
import type { AccountTx } from "./account-ports.ts"
import type { AdministrationTx, PlaceFacts } from "./admin-ports.ts"
import type { CheckpointHeads } from "./audit/checkpoint.ts"
import type { AuditEvent } from "./audit/event.ts"
import type { AuditFilter } from "./audit/filter.ts"
import type { Linked } from "./audit/verify-chains.ts"
import type { AuthorityVersions } from "./authz/versions.ts"
import type {
  AppId,
  AuditEventId,
  ContextId,
  DeviceId,
  IdentityId,
  MagicLinkRequestId,
  PrincipalId,
  ProviderAccountId,
  ProviderClientId,
  RefreshTokenId,
  SessionId,
  TenantId,
} from "./ids.ts"
import type { KeyPurpose, SignedType } from "./keys/purposes.ts"
import type { LimitCounts } from "./limits/ports.ts"
import type {
  AssertionUses,
  ClientCalls,
  Delegations,
  EnvelopeKeys,
  Page,
  Pats,
  Principals,
  Revocations,
  ServiceAccounts,
} from "./machine-ports.ts"
import type { Revocation } from "./machine-records.ts"
import type { Authorities } from "./permission-ports.ts"
import type {
  AccountKey,
  App,
  Identity,
  Membership,
  Platform,
  Principal,
  Provider,
  ProviderAccount,
  ProviderClient,
  RefreshToken,
  Session,
} from "./records.ts"

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number
}

export interface Random {
  /** Bytes from a cryptographic source. */
  bytes(length: number): Uint8Array
}

/** Area A's store: one unit of work at a time. Work may run again after a serialization failure: it must only touch `tx`. */
export interface Store {
  /** Commits when the work resolves, rolls back when it throws. Retried on 40001 and 40P01. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Outside of any transaction. */
  readonly limits: LimitCounts
  readonly clients: ClientCalls
  /** True when the database answers and its migrations are those of this program. */
  isReady(): Promise<boolean>
}

export interface Tx extends AdministrationTx, AccountTx {
  readonly apps: Apps
  readonly identities: Identities
  readonly sessions: Sessions
  readonly refreshTokens: RefreshTokens
  readonly idTokenUses: IdTokenUses
  readonly magicLinks: MagicLinks
  readonly pats: Pats
  readonly serviceAccounts: ServiceAccounts
  readonly envelopeKeys: EnvelopeKeys
  readonly delegations: Delegations
  readonly revocations: Revocations
  readonly assertionUses: AssertionUses
  readonly principals: Principals
  readonly authorities: Authorities
  /** Counts on the transaction's own connection, for a subject that is known only inside of it. */
  readonly limits: LimitCounts
  readonly audit: AuditLog
}

export interface Apps {
  findApp(id: AppId): Promise<App | undefined>
  findProviderClient(appId: AppId, provider: Provider, platform: Platform): Promise<ProviderClient | undefined>
  /**
   * The client's status, held until the transaction ends: who disables it waits, and then sees the session that was made.
   * Any number of sign-ins may hold it at once.
   */
  holdProviderClient(id: ProviderClientId): Promise<ProviderClient["status"] | undefined>
  /** Every origin that some active app lists, once: for CORS preflights, which name no app. */
  listAllowedOrigins(): Promise<readonly string[]>
  /** Inserts, or replaces what has the same id. For seeding and, later, administration. */
  putApp(app: App): Promise<void>
  putProviderClient(client: ProviderClient): Promise<void>
}

export interface Identities {
  findAccount(key: AccountKey): Promise<ProviderAccount | undefined>
  findAccounts(identityId: IdentityId): Promise<readonly ProviderAccount[]>
  findIdentity(id: IdentityId): Promise<Identity | undefined>
  findPrincipal(id: PrincipalId): Promise<Principal | undefined>
  findUserPrincipal(identityId: IdentityId): Promise<Principal | undefined>
  /**
   * Inserts the identity with its first account and its principal, unless the account's key is taken.
   *
   * @returns false when another sign-in took the key first (also one that was under way: the call waits for it); then
   *   nothing was inserted, and findAccount sees the winner's.
   */
  insertIdentity(identity: Identity, account: ProviderAccount, principal: Principal): Promise<boolean>
  /** The account was used again: keeps the newest email and links an account that was REVOKED. */
  markAccountUsed(id: ProviderAccountId, email: string | null, nowMs: number): Promise<void>
  /** Changes the contact address. */
  setPrimaryEmail(id: IdentityId, email: string, nowMs: number): Promise<void>
  findMembership(
    principalId: PrincipalId,
    appId: AppId,
    tenantId: TenantId | null,
    contextId: ContextId | null,
  ): Promise<Membership | undefined>
  findMemberships(principalId: PrincipalId, appId: AppId): Promise<readonly Membership[]>
  /** Inserts unless there is one for the same principal, app, tenant and context that was not removed. Returns what is there. */
  insertMembership(membership: Membership): Promise<Membership>
}

export interface Sessions {
  insert(session: Session): Promise<void>
  find(id: SessionId): Promise<Session | undefined>
  /** The session, locked until the transaction ends. All changes of a session and of its tokens take this lock first. */
  lock(id: SessionId): Promise<Session | undefined>
  /** The session that this refresh token is of, locked. */
  lockByRefreshToken(tokenHashes: readonly Uint8Array[]): Promise<Session | undefined>
  /** Active and unexpired sessions of the principal in the app, newest first, from after the cursor. */
  listActive(
    principalId: PrincipalId,
    appId: AppId,
    nowMs: number,
    page: { size: number; before: SessionCursor | null },
  ): Promise<readonly Session[]>
  /** Binds the session to the device, if it is of this user there. Tokens name it from then on. Again is no error. */
  bindDevice(
    id: SessionId,
    deviceId: DeviceId,
    of: { principalId: PrincipalId; appId: AppId; tenantId: TenantId | null },
  ): Promise<void>
  /** ACTIVE becomes REVOKED or COMPROMISED, and its refresh tokens are revoked. False when it was not ACTIVE. */
  end(id: SessionId, status: "REVOKED" | "COMPROMISED", reason: string, nowMs: number): Promise<boolean>
  /** Ends every ACTIVE session of the identity, in every app, but the one named. Returns the ended ones' ids. */
  endAll(identityId: IdentityId, except: SessionId | null, reason: string, nowMs: number): Promise<readonly SessionId[]>
}

export interface SessionCursor {
  createdAtMs: number
  id: SessionId
}

export interface RefreshTokens {
  insert(token: RefreshToken): Promise<void>
  /** The token with one of these hashes. The caller holds its session's lock. */
  find(tokenHashes: readonly Uint8Array[]): Promise<RefreshToken | undefined>
  /** The same with what else decides about its rotation. The caller holds this session's lock. */
  findWithFacts(tokenHashes: readonly Uint8Array[], session: Session): Promise<RefreshFacts>
  /**
   * Marks it used and rotated, keeps what a retry needs, and inserts the successor. Its own predecessor is confirmed:
   * what a retry of that would need is erased. The session's rotation is counted, and its idle limit moved.
   */
  rotate(
    id: RefreshTokenId,
    change: {
      nowMs: number
      idleExpiresAtMs: number
      retryKeyHash: Uint8Array | null
      successorSealed: Uint8Array | null
    },
    successor: RefreshToken,
  ): Promise<void>
}

/** What decides about a refresh, all of one instant. */
export interface RefreshFacts {
  token: RefreshToken | undefined
  app: App | undefined
  identity: Identity["status"] | undefined
  principal: Principal | undefined
  /** Of the app as a whole. */
  outer: Membership | undefined
  /** At the session's own place. */
  inner: Membership | undefined
  /** Of the tenant that the session's context is in. */
  around: Membership | undefined
  versions: AuthorityVersions
  place: PlaceFacts
}

export interface IdTokenUses {
  /** Remembers a provider token's SHA-256 until it expires. False when it was there: a replay. */
  use(tokenHash: Uint8Array, expiresAtMs: number): Promise<boolean>
}

/** A magic link that was asked for; the link itself is nobody's business. */
export interface MagicLinkRequest {
  id: MagicLinkRequestId
  /** HMAC of whom it was sent to, under the pepper: 32 bytes. */
  emailHash: Uint8Array
  appId: AppId
  /** BASE64URL(SHA-256(code verifier)); null when the client sent none. */
  codeChallenge: string | null
  expiresAtMs: number
}

export interface MagicLinks {
  /** Inserted alike for addresses that are known and for those that are not. */
  insert(request: MagicLinkRequest): Promise<void>
  /** Those that have not expired, newest first. */
  findLive(emailHashes: readonly Uint8Array[], nowMs: number): Promise<readonly MagicLinkRequest[]>
  /** A link of these was taken: forgets them all. */
  forget(emailHashes: readonly Uint8Array[]): Promise<void>
}

export interface AuditLog {
  /** Written at the end of the transaction, with what else it was handed: an event that cannot be undoes it all. */
  append(event: AuditEvent): Promise<void>
  /** Those of these events that are there. */
  known(ids: readonly AuditEventId[]): Promise<ReadonlySet<AuditEventId>>
  /** Newest first. The cursor is of an event's id and time. */
  list(filter: AuditFilter, page: Page): Promise<readonly AuditEvent[]>
  /** The links of a chain after this one, as they follow. */
  links(shard: string, afterSeq: bigint, size: number): Promise<readonly Linked[]>
  /** Checkpoints after this one, each with all of its heads. */
  checkpoints(afterNumber: bigint, size: number): Promise<readonly CheckpointHeads[]>
}

/** What a verifier's answer about liveness needs, in one look-up. Undefined for what does not exist. */
export interface Liveness {
  find(question: {
    principalId: PrincipalId
    /** The service that acts for the principal, if one does. */
    actorId: PrincipalId | null
    /** The token's session, or that of the user who delegated. */
    sessionId: SessionId | null
    /** What the token was obtained with: its `cred_id`. */
    credentialId: string | null
    /** The token's `jti`. */
    tokenId: string | null
    issuedAtMs: number
    appId: AppId
    tenantId: TenantId | null
    contextId: ContextId | null
    nowMs: number
  }): Promise<LivenessFacts>
}

export interface LivenessFacts extends PlaceFacts {
  /** SUSPENDED also for a service account that is disabled. */
  principal: Principal["status"] | undefined
  /** The same of the acting service. */
  actor: Principal["status"] | undefined
  identity: Identity["status"] | undefined
  session: { status: Session["status"]; idleExpiresAtMs: number; absoluteExpiresAtMs: number } | undefined
  /** Of the app as a whole; and when that is ACTIVE, of the tenant and context, if the question names any. */
  membership: Membership["status"] | undefined
  /** Which of the question's principal, session, credential and token were revoked and not yet forgotten. */
  revoked: readonly Revocation["kind"][]
  /** The oldest versions that a token of the principal in the app may have been issued under. */
  minimum: AuthorityVersions
  /** The versions as they are; null where nobody knows. */
  current: AuthorityVersions | null
}

/** Signs tokens and statements, and publishes the keys that they are verified with: a set a purpose. */
export interface KeyRing {
  /** A compact JWS with the header {alg: ES256, typ, kid}, by the keys of the type's purpose. */
  sign(typ: SignedType, claims: Readonly<Record<string, unknown>>): string
  /** NEXT, CURRENT and PREVIOUS of the purpose, ACCESS when none is named; at most four, public members only. */
  jwks(purpose?: KeyPurpose): readonly PublicJwk[]
}

export interface PublicJwk {
  readonly kty: "EC"
  readonly crv: "P-256"
  readonly x: string
  readonly y: string
  readonly kid: string
  readonly alg: "ES256"
  readonly use: "sig"
}

/** A signing key as it is kept: the public half as it is published, the private half sealed under the service's key. */
export interface SigningKeyRecord {
  kid: string
  purpose: KeyPurpose
  status: "NEXT" | "CURRENT" | "PREVIOUS" | "RETIRED" | "COMPROMISED"
  publicJwk: PublicJwk
  privateSealed: Uint8Array
  createdAtMs: number
  activatedAtMs: number | null
  retiredAtMs: number | null
}

export interface SigningKeys {
  /** All that were ever kept, oldest first. */
  list(): Promise<readonly SigningKeyRecord[]>
  /**
   * Locks the set, writes what the pure function returns (inserted or updated by kid; what it leaves out stays), and
   * returns all keys as they are then. Two processes never both rotate: the second sees what the first did. The work
   * may run again after a serialization failure.
   */
  change(work: (keys: readonly SigningKeyRecord[]) => readonly SigningKeyRecord[]): Promise<readonly SigningKeyRecord[]>
}

/** What a keyed hash is of. */
export type SecretPurpose =
  | "refresh-token"
  | "retry-key"
  | "page-token"
  | "pat"
  | "service-secret"
  | "rate-limit"
  | "invitation"
  | "email"

/** Hashing and sealing under secrets that are outside the database. */
export interface Secrets {
  /** HMAC-SHA-256 under the newest pepper. Purposes never give the same hash. */
  hash(purpose: SecretPurpose, text: string): Uint8Array
  /** The same under every pepper in use, newest first: for look-ups. */
  hashes(purpose: SecretPurpose, text: string): readonly Uint8Array[]
  /** Compares in constant time. */
  equal(a: Uint8Array, b: Uint8Array): boolean
  /** SHA-256, for what is no secret of ours. */
  digest(text: string): Uint8Array
  /**
   * AES-256-GCM under HKDF-SHA-256 of two secrets that only the caller has: a refresh token and its retry key. Neither
   * the operator nor a reader of the database can open it.
   */
  sealSuccessor(of: { tokenId: RefreshTokenId; token: string; retryKey: string }, successor: string): Uint8Array
  /** Undefined when it does not open. */
  openSuccessor(
    of: { tokenId: RefreshTokenId; token: string; retryKey: string },
    sealed: Uint8Array,
  ): string | undefined
  /** AES-256-GCM under the service's own key, bound to a label: for provider secrets and signing keys at rest. */
  seal(label: string, plaintext: Uint8Array): Uint8Array
  open(label: string, sealed: Uint8Array): Uint8Array | undefined
}

/** What a provider vouched for. */
export interface Vouched {
  issuer: string
  subject: string
  providerTenant: string | null
  email: string | null
  emailVerified: boolean
  name: string | null
  /** The address is the provider's relay for a person who hides theirs. */
  isRelayEmail: boolean
  /** When the person authenticated at the provider, or the token was issued. */
  authTimeMs: number
  /** The provider's own refresh token, where a code was traded and the provider's account can be ended with it. */
  providerRefreshToken: string | null
  /** What must not be taken twice: the token, or null for a code that the provider itself takes once. */
  singleUse: { tokenHash: Uint8Array; expiresAtMs: number } | null
}

/** A provider, as sign-in sees it. */
export interface IdentityProvider {
  /**
   * Verifies what the provider's client handed to the app, against that app's configuration.
   *
   * @throws Refused PROVIDER_TOKEN_INVALID, NONCE_MISMATCH, UPSTREAM_UNAVAILABLE.
   */
  verify(client: ProviderClient, credential: ExternalCredential, nonce: string): Promise<Vouched>
  /**
   * Tells the provider that its account is no longer used here, with the refresh token that it gave. Absent where a
   * provider has no such call. Again is no error.
   *
   * @throws Refused UPSTREAM_UNAVAILABLE.
   */
  revoke?(client: ProviderClient, providerRefreshToken: string): Promise<void>
}

/**
 * A provider that knows people by email: what the service asks it for them. Its tokens never leave the call.
 *
 * Every call may also be Refused PROVIDER_NOT_CONFIGURED, and RATE_LIMITED with `retry_after`; those that vouch,
 * PROVIDER_TOKEN_INVALID.
 */
export interface EmailProvider {
  /** @throws Refused INVALID_CREDENTIALS (also for an unknown address), EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE. */
  signIn(client: ProviderClient, credential: { email: string; password: string }): Promise<Vouched>
  /**
   * Has a magic link sent. Resolves alike whether the address is known or not.
   *
   * @param redirectUri Where the link leads; the caller has checked that the app allows it.
   * @param mayCreate Whether a person whom the provider does not know is made there.
   * @throws Refused RATE_LIMITED (the provider's own limit), UPSTREAM_UNAVAILABLE.
   */
  sendMagicLink(client: ProviderClient, to: { email: string; redirectUri: string; mayCreate: boolean }): Promise<void>
  /**
   * Several calls at the same moment may each vouch: only one of them has a single use that was not used before.
   *
   * @param guard Asked before the link's session ends; without one, a first link replaces the password.
   * @throws Refused MAGIC_LINK_INVALID (unknown, used or expired), EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE.
   */
  confirmMagicLink(client: ProviderClient, tokenHash: string, guard?: PasswordGuard): Promise<Vouched>
}

/**
 * Decides about the password of who showed a link.
 *
 * @param of.isFirst The link is what first showed the address: the password that is there may be a stranger's.
 * @param replace Replaces it with one that nobody knows. False when the provider did not.
 */
export type PasswordGuard = (
  of: { subject: string; isFirst: boolean },
  replace: () => Promise<boolean>,
) => Promise<void>

/** What a provider tells of an account by itself, without a sign-in. */
export interface ProviderNotification {
  /** Unique for the provider client; taken once. */
  readonly id: string
  readonly issuer: string
  readonly providerTenant: string | null
  readonly subject: string
  readonly change: "CONSENT_REVOKED" | "ACCOUNT_DELETED" | "EMAIL_DISABLED" | "EMAIL_ENABLED"
  readonly expiresAtMs: number
}

/** Reads the notifications of IDP_B. */
export interface NotificationReader {
  /**
   * @param clients The clients that a notification may be for: their issuers and audiences.
   * @throws Refused PROVIDER_TOKEN_INVALID, UPSTREAM_UNAVAILABLE.
   */
  read(clients: readonly ProviderClient[], jws: string): Promise<ProviderNotification>
}

export type ExternalCredential =
  | { readonly is: "idToken"; readonly idToken: string }
  | { readonly is: "code"; readonly code: string; readonly codeVerifier: string; readonly redirectUri: string }
