// The store as machines and exchanged credentials need it: more members of Tx. What `lock` returns is locked until the
// transaction ends.

import type { PlaceFacts } from "../administration/ports.ts"
import type { AuditEvent } from "../audit/event.ts"
import type { AuthorityVersions } from "../authz/versions.ts"
import type {
  AppId,
  ContextId,
  DelegationId,
  DelegationPolicyId,
  PatId,
  PrincipalId,
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
  /** By keyed hash, under every pepper in use. Takes no lock: an exchange only reads. */
  findByHash(hashes: readonly Uint8Array[]): Promise<Pat | undefined>
  list(principalId: PrincipalId, appId: AppId, page: Page): Promise<readonly Pat[]>
  /** False when it was revoked before. */
  revoke(id: PatId, reason: NonNullable<Pat["revokeReason"]>, nowMs: number): Promise<boolean>
  /** Writes at most once a minute. */
  markUsed(id: PatId, nowMs: number): Promise<void>
}

export interface ServiceAccounts {
  /** Inserts account, principal and membership. False when an owned audience is another account's; nothing is inserted then. */
  insert(account: ServiceAccount, principal: Principal, membership: Membership): Promise<boolean>
  find(id: ServiceAccountId): Promise<ServiceAccount | undefined>
  lock(id: ServiceAccountId): Promise<ServiceAccount | undefined>
  /** With what decides about its calls. */
  findClient(question: ClientQuestion): Promise<ClientFacts | undefined>
  findByPrincipal(id: PrincipalId): Promise<ServiceAccount | undefined>
  /** Of the tenant, or with null of the app itself: never of both. */
  list(appId: AppId, tenantId: TenantId | null, page: Page): Promise<readonly ServiceAccount[]>
  /** False when that was its status. */
  setStatus(id: ServiceAccountId, status: ServiceAccount["status"], nowMs: number): Promise<boolean>
  /** All that were ever made and are kept, newest first. */
  secrets(id: ServiceAccountId): Promise<readonly ServiceSecret[]>
  insertSecret(secret: ServiceSecret): Promise<void>
  /** Never later than it was. */
  shortenSecret(id: ServiceSecretId, expiresAtMs: number): Promise<void>
  revokeSecret(id: ServiceSecretId, nowMs: number): Promise<boolean>
  markSecretUsed(id: ServiceSecretId, nowMs: number): Promise<void>
  keys(id: ServiceAccountId): Promise<readonly ServiceKey[]>
  /** False when the account has or had this key. */
  insertKey(key: ServiceKey): Promise<boolean>
  revokeKey(id: ServiceAccountId, kid: string, nowMs: number): Promise<boolean>
}

/** What decides about a call of a client, all of one instant. */
export interface ClientFacts {
  account: ServiceAccount
  app: Pick<App, "id" | "status" | "scopes"> | undefined
  principal: Principal["status"] | undefined
  versions: AuthorityVersions
  /** Those that are neither revoked nor expired, newest first. */
  secrets: readonly Pick<ServiceSecret, "id" | "secretHash" | "lastUsedAtMs">[]
  /** Those that are not revoked, newest first. */
  keys: readonly Pick<ServiceKey, "kid" | "x" | "y">[]
  /** In its app, without those that ended. */
  memberships: readonly Pick<Membership, "status" | "tenantId" | "contextId">[]
  /** Where it wants to act: in the tenant that was asked for, else in its own. */
  place: { tenantId: TenantId | null; facts: PlaceFacts }
}

export interface ClientQuestion {
  who: { clientId: string } | { principalId: PrincipalId }
  tenantId?: TenantId | null
  contextId?: ContextId | null
  nowMs: number
}

/** Calls of clients outside of any transaction: each method is one statement, and so all of it or nothing. */
export interface ClientCalls {
  find(question: ClientQuestion): Promise<ClientFacts | undefined>
  /** Counts the call first: one that is refused looks nothing up. */
  countAndFind(counting: Counting, question: ClientQuestion): Promise<Taken & { client: ClientFacts | undefined }>
  /** Counts the call and writes down what it does: nothing of one that is refused. */
  countAndAppend(counting: Counting, event: AuditEvent): Promise<Taken>
  markSecretUsed: ServiceAccounts["markSecretUsed"]
  useAssertion: AssertionUses["use"]
}

export interface EnvelopeKeys {
  find(kid: string): Promise<EnvelopeKey | undefined>
  /** All that were ever added, newest first. */
  list(id: ServiceAccountId): Promise<readonly EnvelopeKey[]>
  /** False when some account has or had this key. */
  insert(key: EnvelopeKey): Promise<boolean>
  /** False when it was revoked before. */
  revoke(kid: string, nowMs: number): Promise<boolean>
}

export interface Delegations {
  insertPolicy(policy: DelegationPolicy): Promise<void>
  lockPolicy(id: DelegationPolicyId): Promise<DelegationPolicy | undefined>
  /** Live policies of the actor in the app. */
  findPolicies(actor: PrincipalId, appId: AppId): Promise<readonly DelegationPolicy[]>
  listPolicies(appId: AppId, tenantId: TenantId | null, page: Page): Promise<readonly DelegationPolicy[]>
  revokePolicy(id: DelegationPolicyId, nowMs: number): Promise<boolean>
  insertDelegation(delegation: StandingDelegation): Promise<void>
  findDelegation(id: DelegationId): Promise<StandingDelegation | undefined>
  listDelegations(subject: PrincipalId, appId: AppId, page: Page): Promise<readonly StandingDelegation[]>
  revokeDelegation(id: DelegationId, nowMs: number): Promise<boolean>
}

/** What can come back. */
export type LiftableRevocation =
  | { kind: "PRINCIPAL"; key: PrincipalId }
  | { kind: "APP"; key: AppId }
  | { kind: "TENANT"; key: TenantId }
  | { kind: "CONTEXT"; key: ContextId }

export interface Revocations {
  /** Adds what is not there; keeps the later expiry. */
  add(entries: readonly Revocation[]): Promise<void>
  /** It acts again: tokens that are issued from now on count, those from before stay refused. */
  lift(of: LiftableRevocation, nowMs: number): Promise<void>
  /** Which of these keys are revoked now. */
  find(keys: readonly string[], nowMs: number): Promise<readonly Revocation[]>
}

export interface AssertionUses {
  /** Remembers the `jti` of a client's assertion until it expires. False when it was there: a replay (RFC 7523 section 3). */
  use(clientId: string, jti: string, expiresAtMs: number): Promise<boolean>
}

/** How long a DEACTIVATED principal may come back. */
export const reactivationMs = 30 * 86_400_000

export interface Principals {
  lock(id: PrincipalId): Promise<Principal | undefined>
  /** Changes the status and ends its sessions, personal access tokens, secrets and keys. False when it was that, or gone. */
  end(id: PrincipalId, status: "SUSPENDED" | "DEACTIVATED", nowMs: number): Promise<boolean>
  /** SUSPENDED becomes ACTIVE. What was ended stays ended. */
  resume(id: PrincipalId, nowMs: number): Promise<boolean>
  /** ACTIVE or LOCKED becomes LOCKED with this time and reason. Ends nothing. False from another status. */
  lockUntil(id: PrincipalId, lock: PrincipalLock, nowMs: number): Promise<boolean>
  /** LOCKED becomes ACTIVE, with the sessions and credentials that it had. */
  unlock(id: PrincipalId, nowMs: number): Promise<boolean>
  /** Locked ones whose time has come, the oldest first. */
  listDueUnlocks(nowMs: number, limit: number): Promise<readonly PrincipalId[]>
  /** DEACTIVATED becomes ACTIVE, before reactivationMs are over. What was ended stays ended. */
  reactivate(id: PrincipalId, nowMs: number): Promise<boolean>
}
