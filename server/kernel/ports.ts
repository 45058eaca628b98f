// The kernel's boundary: interfaces that handlers use to act. server/store, server/keys and server/providers implement
// them; the programs connect them.

import type { AdministrationTx, MemberCalls, Place, PlaceFacts } from "./administration/ports.ts"
import type { CheckpointHeads } from "./audit/checkpoint.ts"
import type { CountQuery, EventCounts } from "./audit/count.ts"
import type { AuditEvent } from "./audit/event.ts"
import type { AuditFilter } from "./audit/filter.ts"
import type { Linked } from "./audit/verify-chains.ts"
import type { Authorities } from "./authz/ports.ts"
import type { AuthorityVersions } from "./authz/versions.ts"
import type { AccountTx } from "./identity/account-ports.ts"
import type { TokenUse } from "./identity/provider-ports.ts"
import type {
  AppId,
  AuditEventId,
  ContextId,
  DeviceId,
  IdentityId,
  MagicLinkRequestId,
  PrincipalId,
  ProviderClientId,
  RefreshTokenId,
  SessionId,
  TenantId,
} from "./ids.ts"
import type { Counting, LimitCounts, LimitRefusals, Taken } from "./limits/ports.ts"
import type {
  AssertionUses,
  ClientCalls,
  Delegations,
  EnvelopeKeys,
  Pats,
  Principals,
  Revocations,
  ServiceAccounts,
} from "./machine/ports.ts"
import type { Page } from "./page.ts"
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
  /** Returns cryptographically random bytes. */
  bytes(length: number): Uint8Array
}

/**
 * The auth service's store: one transaction at a time. `work` may run again after a serialization failure, so it must
 * have no effects outside `tx`.
 */
export interface Store {
  /** Commits when the work resolves, rolls back when it throws. Retries on 40001 and 40P01. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs outside transactions. */
  readonly limits: LimitCounts
  readonly limitRefusals: Pick<LimitRefusals, "note">
  readonly clients: ClientCalls
  readonly refreshes: RefreshCalls
  readonly signIns: SignInCalls
  /** Run outside transactions. */
  readonly apps: AppCalls
  readonly members: MemberCalls
  /** True if the database answers and its migrations match this program. */
  isReady(): Promise<boolean>
}

export interface Tx extends AdministrationTx, AccountTx {
  readonly apps: Apps
  readonly identities: Identities
  readonly sessions: Sessions
  readonly refreshTokens: RefreshTokens
  readonly signIns: SignIns
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
  /** Counts on the transaction's own connection, for subjects that are known only inside it. */
  readonly limits: LimitCounts
  readonly limitRefusals: LimitRefusals
  readonly audit: AuditLog
}

export interface Apps {
  findApp(id: AppId): Promise<App | undefined>
  /** The app's clients on a platform, for one provider or (null) all; sorted by provider, then by connection. */
  findConnections(appId: AppId, provider: Provider | null, platform: Platform): Promise<readonly ProviderClient[]>
  /**
   * Returns the client's status with a shared lock until the transaction ends. A concurrent disabling waits, and then
   * sees the session that this transaction created.
   */
  lockSharedProviderClient(id: ProviderClientId): Promise<ProviderClient["status"] | undefined>
  /** The distinct origins of all active apps, for CORS preflights, which name no app. */
  listAllowedOrigins(): Promise<readonly string[]>
  /** Inserts, or replaces the one with the same id. */
  putApp(app: App): Promise<void>
  putProviderClient(client: ProviderClient): Promise<void>
}

/** The app and its clients for one provider on a platform, sorted by connection. */
export interface AppConnections {
  readonly app: App | undefined
  readonly connections: readonly ProviderClient[]
}

/** Reads of an app outside of transactions, each one statement. */
export interface AppCalls {
  find(appId: AppId): Promise<App | undefined>
  findWithConnections(appId: AppId, provider: Provider, platform: Platform): Promise<AppConnections>
  /** Also counts the call. A refused call reads nothing. */
  countAndFind(
    counting: Counting,
    of: { appId: AppId; provider: Provider; platform: Platform },
  ): Promise<Taken & AppConnections>
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
   * @returns False, with nothing inserted, if another sign-in took the key first. The call waits for a concurrent one,
   * and findAccount then returns its account.
   */
  insertIdentity(identity: Identity, account: ProviderAccount, principal: Principal): Promise<boolean>
  /** Sets the contact address. */
  setPrimaryEmail(id: IdentityId, email: string, nowMs: number): Promise<void>
  findMembership(
    principalId: PrincipalId,
    appId: AppId,
    tenantId: TenantId | null,
    contextId: ContextId | null,
  ): Promise<Membership | undefined>
  findMemberships(principalId: PrincipalId, appId: AppId): Promise<readonly Membership[]>
  /**
   * Inserts unless the principal has one at the same app, tenant and context that was not removed. Returns the stored
   * one.
   */
  insertMembership(membership: Membership): Promise<Membership>
}

/** The statements of a sign-in. */
export interface SignIns {
  /**
   * Locks in this order: the place and the provider client (shared), the identity, the principal and the account. Each
   * is returned in its newest state. `identityId` is the account's owner before the locks: another one may have linked
   * the account since.
   */
  lock(of: { place: Place; clientId: ProviderClientId; account: AccountKey }): Promise<LockedSignIn>
  /** The memberships and authority of a principal, of one instant. Call it under the principal's lock. */
  findAuthority(principalId: PrincipalId, place: Place): Promise<SignInAuthority>
  /**
   * Inserts the session with its first refresh token. For an account that existed earlier, it also records the use: it
   * stores the newest email and links a REVOKED account. All of this is written with the transaction's audit events, so
   * nothing that the transaction reads earlier contains it.
   *
   * @param used Null for an account of this transaction.
   */
  insertSession(session: Session, token: RefreshToken, used: { readonly email: string | null } | null): void
}

/** The records of a sign-in. */
export interface SignInRecords {
  readonly place: PlaceFacts
  readonly client: ProviderClient["status"] | undefined
  readonly identity: Identity | undefined
  readonly principal: Principal | undefined
  readonly account: ProviderAccount | undefined
}

export interface LockedSignIn extends SignInRecords {
  readonly identityId: IdentityId | undefined
}

/** Memberships of the whole app, at the place, and in the tenant around a context. */
export interface SignInAuthority extends Pick<RefreshFacts, "app" | "outer" | "inner" | "around" | "versions"> {}

/** The statements of a sign-in outside of transactions. Calls that arrive together share them. */
export interface SignInCalls {
  /** The records of the account, and the authority of its user at the place: of one instant, and not locked. */
  find(of: {
    place: Place
    clientId: ProviderClientId
    account: AccountKey
  }): Promise<SignInRecords & { readonly authority: SignInAuthority | undefined }>
  /**
   * Uses up the provider's token, inserts the session with its first refresh token, records the use of the account, and
   * appends the events, in one statement.
   *
   * @returns False if place, client, identity, principal or account is not active, if the version has changed, if one
   * of them is locked by another call, or if a token was used before. Nothing is written then, except that some of the
   * tokens may be used up if another one was.
   */
  enter(entering: Entering, events: readonly AuditEvent[]): Promise<boolean>
}

/** A sign-in of an existing member. */
export interface Entering {
  readonly session: Session
  readonly token: RefreshToken
  /** The newest email of the account; null to keep the stored one. */
  readonly email: string | null
  /** The version of the principal's authority for which the sign-in was decided. */
  readonly version: number
  readonly uses: readonly TokenUse[]
}

export interface Sessions {
  insert(session: Session): Promise<void>
  find(id: SessionId): Promise<Session | undefined>
  /**
   * Returns the session, locked until the transaction ends. Every change of a session or its tokens takes this lock
   * first.
   */
  lock(id: SessionId): Promise<Session | undefined>
  /** Returns the session of this refresh token, locked. */
  lockByRefreshToken(tokenHashes: readonly Uint8Array[]): Promise<Session | undefined>
  /**
   * Active, unexpired sessions of the principal in the app, or only those at the tenant or context if one is given.
   * Newest first, after the cursor.
   */
  listActive(
    of: { principalId: PrincipalId; appId: AppId; tenantId: TenantId | null; contextId: ContextId | null },
    nowMs: number,
    page: { size: number; before: SessionCursor | null },
  ): Promise<readonly Session[]>
  /**
   * Binds the session to the device if the session belongs to this user at this place. Later tokens name the device.
   * Idempotent.
   */
  bindDevice(
    id: SessionId,
    deviceId: DeviceId,
    of: { principalId: PrincipalId; appId: AppId; tenantId: TenantId | null },
  ): Promise<void>
  /** ACTIVE becomes REVOKED or COMPROMISED, and its refresh tokens are revoked. False if it was not ACTIVE. */
  end(id: SessionId, status: "REVOKED" | "COMPROMISED", reason: string, nowMs: number): Promise<boolean>
  /** Ends every ACTIVE session of the identity in every app, except the named one. Returns their ids. */
  endAll(identityId: IdentityId, except: SessionId | null, reason: string, nowMs: number): Promise<readonly SessionId[]>
}

interface SessionCursor {
  createdAtMs: number
  id: SessionId
}

export interface RefreshTokens {
  insert(token: RefreshToken): Promise<void>
  /** Returns the token with one of these hashes. The caller must hold its session's lock. */
  find(tokenHashes: readonly Uint8Array[]): Promise<RefreshToken | undefined>
  /** Same, with the other facts that decide about its rotation. The caller must hold this session's lock. */
  findWithFacts(tokenHashes: readonly Uint8Array[], session: Session): Promise<RefreshFacts>
  /**
   * Marks the token as used and rotated, stores the data for a retry, and inserts the successor. Confirms the
   * predecessor and erases its retry data. Increments the session's rotation and moves its idle limit.
   */
  rotate(
    id: RefreshTokenId,
    change: Omit<RefreshRotation, "tokenId" | "successor">,
    successor: RefreshToken,
  ): Promise<void>
}

/** The rotation of a token, and its successor. */
export interface RefreshRotation {
  readonly tokenId: RefreshTokenId
  readonly nowMs: number
  readonly idleExpiresAtMs: number
  readonly retryKeyHash: Uint8Array | null
  readonly successorSealed: Uint8Array | null
  readonly successor: RefreshToken
}

/** The session of a refresh token, and the facts that decide about its rotation. */
export interface FoundRefresh {
  readonly session: Session
  readonly facts: RefreshFacts
}

/** Statements of a refresh outside of transactions: no lock is held between them. */
export interface RefreshCalls {
  /**
   * Counts the call and finds the token's session and facts in one statement. Nothing is looked up for a refused call.
   * `refresh` is undefined for an unknown token, and after a wait for the count: the facts may be outdated then.
   */
  countAndFind(
    counting: Counting,
    tokenHashes: readonly Uint8Array[],
  ): Promise<Taken & { readonly refresh: FoundRefresh | undefined }>
  /**
   * Counts, rotates and appends the event in one statement, all or nothing. If session or versions are no longer those
   * expected, or the statement has waited for the session's lock, it counts and writes nothing.
   */
  countAndRotate(
    counting: Counting,
    expected: { readonly session: Session; readonly versions: AuthorityVersions },
    rotation: RefreshRotation,
    event: AuditEvent,
  ): Promise<Taken & { readonly isRotated: boolean }>
}

/** The facts that decide about a refresh, read at one instant. */
export interface RefreshFacts {
  token: RefreshToken | undefined
  app: App | undefined
  identity: Identity["status"] | undefined
  principal: Principal | undefined
  /** Membership of the whole app. */
  outer: Membership | undefined
  /** Membership at the session's place. */
  inner: Membership | undefined
  /** Membership of the tenant around the session's context. */
  around: Membership | undefined
  versions: AuthorityVersions
  place: PlaceFacts
}

export interface IdTokenUses {
  /** Remembers a provider token's SHA-256 until it expires. False when it was there: a replay. */
  use(tokenHash: Uint8Array, expiresAtMs: number): Promise<boolean>
}

/** A request for a magic link. The link itself is not stored. */
export interface MagicLinkRequest {
  id: MagicLinkRequestId
  /** HMAC of the recipient's address under the pepper: 32 bytes. */
  emailHash: Uint8Array
  appId: AppId
  /** BASE64URL(SHA-256(code verifier)); null when the client sent none. */
  codeChallenge: string | null
  expiresAtMs: number
}

export interface MagicLinks {
  /** Inserted for known and unknown addresses alike. */
  insert(request: MagicLinkRequest): Promise<void>
  /** Unexpired requests, newest first. */
  findLive(emailHashes: readonly Uint8Array[], nowMs: number): Promise<readonly MagicLinkRequest[]>
  /** Deletes all requests of these addresses, after a link was redeemed. */
  forget(emailHashes: readonly Uint8Array[]): Promise<void>
}

export interface AuditLog {
  /** Written at the end of the transaction. If the event cannot be written, the transaction rolls back. */
  append(event: AuditEvent): Promise<void>
  /** The subset of these events that is stored. */
  storedIds(ids: readonly AuditEventId[]): Promise<ReadonlySet<AuditEventId>>
  /** Newest first. The cursor holds an event's id and time. */
  list(filter: AuditFilter, page: Page): Promise<readonly AuditEvent[]>
  /** Counts events in buckets of time. It reads at most the newest `most` of the place. */
  count(query: CountQuery): Promise<EventCounts>
  /** The links of a chain after this sequence number, in order. */
  links(shard: string, afterSeq: bigint, size: number): Promise<readonly Linked[]>
  /** Checkpoints after this one, each with all of its heads. */
  checkpoints(afterNumber: bigint, size: number): Promise<readonly CheckpointHeads[]>
}
