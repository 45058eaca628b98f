// Store interfaces for service accounts and exchanged credentials, as members of Tx. `lock` locks the returned row
// until the transaction ends.

import type { Place, PlaceFacts } from "../administration/ports.ts"
import type { AuditEvent } from "../audit/event.ts"
import type { LivenessFacts, LivenessQuestion } from "../authz/liveness-ports.ts"
import type { AuthorityVersions } from "../authz/versions.ts"
import type {
  AppId,
  ContextId,
  DelegationId,
  DelegationPolicyId,
  PatId,
  PrincipalId,
  ProviderAccountId,
  ServiceAccountId,
  ServiceSecretId,
  TenantId,
} from "../ids.ts"
import type { Counting, Taken } from "../limits/ports.ts"
import type { Page } from "../page.ts"
import type { App, Membership, Principal, PrincipalLock } from "../records.ts"
import type {
  DelegationPolicy,
  EnvelopeKey,
  Pat,
  Revocation,
  ServiceAccount,
  ServiceKey,
  ServiceSecret,
  StandingDelegation,
} from "./records.ts"

export interface Pats {
  insert(pat: Pat): Promise<void>
  lock(id: PatId): Promise<Pat | undefined>
  /** Finds by the keyed hash under any pepper in use. Takes no lock: an exchange only reads. */
  findByHash(hashes: readonly Uint8Array[]): Promise<Pat | undefined>
  list(principalId: PrincipalId, appId: AppId, page: Page): Promise<readonly Pat[]>
  /** False if it was already revoked. */
  revoke(id: PatId, reason: NonNullable<Pat["revokeReason"]>, nowMs: number): Promise<boolean>
  /** Writes at most once a minute. */
  markUsed(id: PatId, nowMs: number): Promise<void>
}

export interface ServiceAccounts {
  /**
   * Inserts account, principal and membership. False, and nothing is inserted, if another account owns one of its
   * audiences.
   */
  insert(account: ServiceAccount, principal: Principal, membership: Membership): Promise<boolean>
  find(id: ServiceAccountId): Promise<ServiceAccount | undefined>
  lock(id: ServiceAccountId): Promise<ServiceAccount | undefined>
  /** Finds the account with the facts that decide about its calls. */
  findClient(question: ClientQuestion): Promise<ClientFacts | undefined>
  findByPrincipal(id: PrincipalId): Promise<ServiceAccount | undefined>
  /**
   * Accounts of the tenant; with null only the app's own.
   *
   * @param principalIds Only the accounts of these principals; empty for all.
   */
  list(place: Omit<Place, "contextId">, principalIds: readonly string[], page: Page): Promise<readonly ServiceAccount[]>
  /** False if it already has this status. */
  setStatus(id: ServiceAccountId, status: ServiceAccount["status"], nowMs: number): Promise<boolean>
  /** All stored secrets, ended ones included, newest first. */
  secrets(id: ServiceAccountId): Promise<readonly ServiceSecret[]>
  insertSecret(secret: ServiceSecret): Promise<void>
  /** Moves the expiry earlier, never later. */
  shortenSecret(id: ServiceSecretId, expiresAtMs: number): Promise<void>
  revokeSecret(id: ServiceSecretId, nowMs: number): Promise<boolean>
  markSecretUsed(id: ServiceSecretId, nowMs: number): Promise<void>
  keys(id: ServiceAccountId): Promise<readonly ServiceKey[]>
  /** False if the account has or had this key. */
  insertKey(key: ServiceKey): Promise<boolean>
  revokeKey(id: ServiceAccountId, kid: string, nowMs: number): Promise<boolean>
}

/** The facts that decide about a client's call, read at one instant. */
export interface ClientFacts {
  account: ServiceAccount
  app: Pick<App, "id" | "status" | "scopes"> | undefined
  principal: Principal["status"] | undefined
  versions: AuthorityVersions
  /** Secrets that are neither revoked nor expired, newest first. */
  secrets: readonly Pick<ServiceSecret, "id" | "secretHash" | "lastUsedAtMs">[]
  /** Keys that are not revoked, newest first. */
  keys: readonly Pick<ServiceKey, "kid" | "x" | "y">[]
  /** Memberships in its app that have not ended. */
  memberships: readonly Pick<Membership, "status" | "tenantId" | "contextId">[]
  /** The place of the call: the requested tenant, else the account's own. */
  place: { tenantId: TenantId | null; facts: PlaceFacts }
}

export interface ClientQuestion {
  who: { clientId: string } | { principalId: PrincipalId }
  tenantId?: TenantId | null
  contextId?: ContextId | null
  nowMs: number
}

/** Calls of clients outside a transaction. Each method is one statement and therefore atomic. */
export interface ClientCalls {
  find(question: ClientQuestion): Promise<ClientFacts | undefined>
  /** Counts the call first; a refused call does not look up the client. */
  countAndFind(counting: Counting, question: ClientQuestion): Promise<Taken & { found: TaggedClient | undefined }>
  /** Counts the call and appends its event. A refused call appends nothing. */
  countAndAppend(counting: Counting, event: AuditEvent): Promise<Taken>
  /**
   * As `countAndAppend`, if the client's facts still have this tag.
   *
   * @returns "changed" if they do not: nothing is counted or appended, and everything is granted. "late" after a wait
   * for another call's count: the call is counted, but nothing is appended, because the client may have been revoked.
   */
  countAndAppendOf(
    counting: Counting,
    asked: Omit<TaggedQuestion, "liveness">,
    event: AuditEvent,
  ): Promise<Taken & { readonly is: "appended" | "refused" | "changed" | "late" }>
  /** As `find`, with a tag that changes when any of the facts changes. */
  findTagged(question: ClientQuestion): Promise<TaggedClient | undefined>
  /**
   * Counts the call and reads a token's liveness if the client's facts still have this tag; otherwise it does neither.
   * All of it is from one snapshot, which is older than the wait for another call's count.
   */
  countAndFindLiveness(counting: Counting, asked: TaggedQuestion): Promise<TakenWithLiveness>
  markSecretUsed: ServiceAccounts["markSecretUsed"]
  useAssertion: AssertionUses["use"]
}

export interface TaggedClient {
  readonly client: ClientFacts
  readonly tag: string
}

interface TaggedQuestion {
  readonly client: ClientQuestion
  readonly tag: string
  readonly liveness: LivenessQuestion
}

type TakenWithLiveness = Taken & {
  /** Undefined, and everything is granted without being counted, if the client's facts have changed. */
  readonly liveness: LivenessFacts | undefined
  /** True if the statement waited, so that its snapshot is old. */
  readonly isLate: boolean
}

export interface EnvelopeKeys {
  find(kid: string): Promise<EnvelopeKey | undefined>
  /** All keys ever added, newest first. */
  list(id: ServiceAccountId): Promise<readonly EnvelopeKey[]>
  /** False if any account has or had this key. */
  insert(key: EnvelopeKey): Promise<boolean>
  /** False if it was already revoked. */
  revoke(kid: string, nowMs: number): Promise<boolean>
}

export interface Delegations {
  insertPolicy(policy: DelegationPolicy): Promise<void>
  findPolicy(id: DelegationPolicyId): Promise<DelegationPolicy | undefined>
  lockPolicy(id: DelegationPolicyId): Promise<DelegationPolicy | undefined>
  /** Live policies of the actor in the app. */
  findPolicies(actor: PrincipalId, appId: AppId): Promise<readonly DelegationPolicy[]>
  listPolicies(appId: AppId, tenantId: TenantId | null, page: Page): Promise<readonly DelegationPolicy[]>
  revokePolicy(id: DelegationPolicyId, nowMs: number): Promise<boolean>
  insertDelegation(delegation: StandingDelegation): Promise<void>
  findDelegation(id: DelegationId): Promise<StandingDelegation | undefined>
  listDelegations(subject: PrincipalId, appId: AppId, page: Page): Promise<readonly StandingDelegation[]>
  /** Delegations under the policy, of every user, that are neither revoked nor expired. */
  listOfPolicy(id: DelegationPolicyId, nowMs: number, page: Page): Promise<readonly StandingDelegation[]>
  /** As `listOfPolicy`, under every active policy of the app itself, or of the tenant if one is given. */
  listOfPolicies(
    appId: AppId,
    tenantId: TenantId | null,
    nowMs: number,
    page: Page,
  ): Promise<readonly StandingDelegation[]>
  revokeDelegation(id: DelegationId, nowMs: number): Promise<boolean>
}

/** Revocations that can be lifted. */
export type LiftableRevocation =
  | { kind: "PRINCIPAL"; key: PrincipalId }
  | { kind: "APP"; key: AppId }
  | { kind: "TENANT"; key: TenantId }
  | { kind: "CONTEXT"; key: ContextId }

export interface Revocations {
  /** Adds missing entries; an existing entry keeps the later expiry. */
  add(entries: readonly Revocation[]): Promise<void>
  /** Lifts the revocation for tokens issued from `nowMs` on. Earlier tokens stay rejected. */
  lift(of: LiftableRevocation, nowMs: number): Promise<void>
  /** Returns the revocations of these keys that are in force. */
  find(keys: readonly string[], nowMs: number): Promise<readonly Revocation[]>
}

export interface AssertionUses {
  /**
   * Remembers the `jti` of a client's assertion until it expires. False if it is already stored: a replay (RFC 7523
   * section 3).
   */
  use(clientId: string, jti: string, expiresAtMs: number): Promise<boolean>
}

/** Time in which a DEACTIVATED principal can be reactivated, in milliseconds. */
export const reactivationMs = 30 * 86_400_000

export interface CredentialCounts {
  readonly sessions: number
  readonly sessionsByAccount: ReadonlyMap<ProviderAccountId, number>
  readonly pats: number
  /** Secrets and keys of a service account. */
  readonly secrets: number
}

export interface Principals {
  lock(id: PrincipalId): Promise<Principal | undefined>
  /**
   * Sets the status and revokes sessions, personal access tokens, secrets and keys. False if it already has this status
   * or was deleted.
   */
  end(id: PrincipalId, status: "SUSPENDED" | "DEACTIVATED", nowMs: number): Promise<boolean>
  /** Counts the credentials in force that `end` revokes, each kind up to `most`. */
  countCredentials(id: PrincipalId, nowMs: number, most: number): Promise<CredentialCounts>
  /** SUSPENDED becomes ACTIVE. Revoked credentials stay revoked. */
  resume(id: PrincipalId, nowMs: number): Promise<boolean>
  /** ACTIVE or LOCKED becomes LOCKED with this expiry and reason. Revokes nothing. False from another status. */
  lockUntil(id: PrincipalId, lock: PrincipalLock, nowMs: number): Promise<boolean>
  /** LOCKED becomes ACTIVE; sessions and credentials continue. */
  unlock(id: PrincipalId, nowMs: number): Promise<boolean>
  /** LOCKED principals, latest expiry first. */
  listLocked(page: {
    readonly size: number
    readonly before: { readonly expiresAtMs: number; readonly id: PrincipalId } | null
  }): Promise<readonly Principal[]>
  /** LOCKED principals whose lock has expired, oldest first. */
  listDueUnlocks(nowMs: number, limit: number): Promise<readonly PrincipalId[]>
  /** DEACTIVATED becomes ACTIVE within reactivationMs. Revoked credentials stay revoked. */
  reactivate(id: PrincipalId, nowMs: number): Promise<boolean>
}
