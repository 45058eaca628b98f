// Where the kernel stops: what the handlers are handed to act with. Implemented by server/store, server/keys and
// server/providers, and put together by the programs.

import type { AdministrationTx, PlaceFacts } from "./administration/ports.ts"
import type { CheckpointHeads } from "./audit/checkpoint.ts"
import type { AuditEvent } from "./audit/event.ts"
import type { AuditFilter } from "./audit/filter.ts"
import type { Linked } from "./audit/verify-chains.ts"
import type { Authorities } from "./authz/ports.ts"
import type { AuthorityVersions } from "./authz/versions.ts"
import type { AccountTx } from "./identity/account-ports.ts"
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
import type { LimitCounts } from "./limits/ports.ts"
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
import type { Revocation } from "./machine/records.ts"
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
  /** The app's clients on a platform: of one provider, or with null of all; by provider, then by connection. */
  findConnections(appId: AppId, provider: Provider | null, platform: Platform): Promise<readonly ProviderClient[]>
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
