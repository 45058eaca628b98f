// Store interfaces of administration, as members of Tx. `lock…` locks the returned row until the transaction ends.
// Lists are newest first.

import type {
  AppId,
  ContextId,
  DeviceId,
  GrantId,
  IdentityId,
  InvitationId,
  MembershipId,
  PrincipalId,
  ProviderAccountId,
  ProviderClientId,
  RoleId,
  SessionId,
  TenantId,
} from "../ids.ts"
import type { Page } from "../page.ts"
import type { App, Identity, Membership, ProviderAccount, ProviderClient } from "../records.ts"
import type { Context, Grant, Invitation, Permission, PlaceStatus, Role, Tenant } from "./records.ts"

/** The stores that administration adds to a transaction. */
export interface AdministrationTx {
  readonly administration: AppAdministration
  readonly places: Places
  readonly tenants: Tenants
  readonly contexts: Contexts
  readonly members: Members
  readonly invitations: Invitations
  readonly roles: Roles
  readonly grants: Grants
  readonly accounts: AccountAdministration
  readonly endings: SessionEndings
}

export interface AppAdministration {
  lockApp(id: AppId): Promise<App | undefined>
  /** The app whose administrators manage the installation. */
  findInstallation(): Promise<App | undefined>
  /** False if the app's id is taken or there already is an installation app. */
  insertApp(app: App): Promise<boolean>
  listApps(page: Page): Promise<readonly App[]>
  lockProviderClient(id: ProviderClientId): Promise<ProviderClient | undefined>
  /** False, and nothing is inserted, if the app already has a client for this provider, platform and connection. */
  insertProviderClient(client: ProviderClient): Promise<boolean>
  listProviderClients(appId: AppId, page: Page): Promise<readonly ProviderClient[]>
  /** The enabled clients of active apps: those that accept the provider's notifications. */
  findProviderClients(provider: ProviderClient["provider"]): Promise<readonly ProviderClient[]>
}

/** The scope of a record or token: an app, and optionally a tenant, a context, or both. */
export interface Place {
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
}

/** Status of an app, a tenant and a context. Undefined if it does not exist, null if the query names none. */
export interface PlaceFacts {
  app: PlaceStatus | undefined
  /** The tenant belongs to this app. */
  tenant: PlaceStatus | undefined | null
  /** The context belongs to this app and tenant; without a tenant, to the app itself. */
  context: PlaceStatus | undefined | null
}

export interface Places {
  find(place: Place): Promise<PlaceFacts>
  /**
   * Same as `find`, with a shared lock until the transaction ends. A concurrent suspension or archival waits, and then
   * sees the session that this transaction created.
   */
  lockShared(place: Place): Promise<PlaceFacts>
}

export interface Tenants {
  insert(tenant: Tenant): Promise<void>
  find(id: TenantId): Promise<Tenant | undefined>
  lock(id: TenantId): Promise<Tenant | undefined>
  /** @param ids Only these tenants; empty for all. */
  list(appId: AppId, ids: readonly string[], page: Page): Promise<readonly Tenant[]>
  /** Writes name, status, updatedAtMs. */
  update(tenant: Tenant): Promise<void>
}

export interface Contexts {
  insert(context: Context): Promise<void>
  find(id: ContextId): Promise<Context | undefined>
  lock(id: ContextId): Promise<Context | undefined>
  /** A null tenant, or no id, matches everything. */
  list(
    appId: AppId,
    filter: { readonly tenantId: TenantId | null; readonly ids: readonly string[] },
    page: Page,
  ): Promise<readonly Context[]>
  /** Writes type, name, status, updatedAtMs. */
  update(context: Context): Promise<void>
}

interface MemberFilter {
  tenantId: TenantId | null
  contextId: ContextId | null
  status: Membership["status"] | null
  principalId: PrincipalId | null
  principalIds: readonly string[]
}

/** Reads outside of transactions. */
export interface MemberCalls {
  /** The subset that are active users with an active membership of the app, and of the tenant if one is given. */
  activeUsers(ids: readonly PrincipalId[], place: Omit<Place, "contextId">): Promise<readonly PrincipalId[]>
  /** The subset that left the place: neither ACTIVE nor SUSPENDED there, or unknown. */
  goneUsers(ids: readonly PrincipalId[], place: Omit<Place, "contextId">): Promise<readonly PrincipalId[]>
}

export interface Members {
  find(id: MembershipId): Promise<Membership | undefined>
  lock(id: MembershipId): Promise<Membership | undefined>
  /** A null or empty field of the filter matches everything. */
  list(appId: AppId, filter: MemberFilter, page: Page): Promise<readonly Membership[]>
  /** Every membership of the principal, in every app. */
  listOfPrincipal(id: PrincipalId): Promise<readonly Membership[]>
  /** Writes status, profile, scopes, updatedAtMs. */
  update(membership: Membership): Promise<void>
}

export interface Invitations {
  insert(invitation: Invitation): Promise<void>
  lock(id: InvitationId): Promise<Invitation | undefined>
  /**
   * Finds it by the keyed hash under any pepper in use. Of two concurrent calls with one code, the second waits and
   * sees the first's result.
   */
  lockByCode(hashes: readonly Uint8Array[]): Promise<Invitation | undefined>
  /** The PENDING invitation that created this INVITED membership. */
  lockByMembership(id: MembershipId): Promise<Invitation | undefined>
  /** A null field of the filter matches everything. */
  list(
    appId: AppId,
    filter: { tenantId: TenantId | null; contextId: ContextId | null },
    page: Page,
  ): Promise<readonly Invitation[]>
  /** Writes status, answeredAtMs, membershipId. */
  update(invitation: Invitation): Promise<void>
}

export interface Roles {
  /** False if the app already has a permission with this key. */
  insertPermission(permission: Permission): Promise<boolean>
  /**
   * Locks the permissions until the transaction ends, so that none is deleted before a role that names it is committed.
   */
  findPermissions(appId: AppId, keys: readonly string[]): Promise<readonly Permission[]>
  listPermissions(appId: AppId, page: Page): Promise<readonly Permission[]>
  /** Writes the description. */
  updatePermission(permission: Permission): Promise<void>
  /** False if a role that is not archived, or a scope of the app, names it. */
  deletePermission(permission: Permission, nowMs: number): Promise<boolean>
  /** False if the app or the same tenant already has an active role with this key. */
  insert(role: Role): Promise<boolean>
  find(id: RoleId): Promise<Role | undefined>
  lock(id: RoleId): Promise<Role | undefined>
  /** The keys of these roles, archived ones included. */
  findKeys(ids: readonly RoleId[]): Promise<ReadonlyMap<RoleId, string>>
  /**
   * The app's own roles, plus those of the tenant if one is given.
   *
   * @param filter.keyPrefix Only roles whose key begins with it; empty for all.
   */
  list(
    appId: AppId,
    filter: { readonly tenantId: TenantId | null; readonly keyPrefix: string },
    page: Page,
  ): Promise<readonly Role[]>
  /** Writes description, permissions, inheritable, assignableAt, status, updatedAtMs. */
  update(role: Role): Promise<void>
}

interface GrantFilter {
  tenantId: TenantId | null
  contextId: ContextId | null
  principalId: PrincipalId | null
  roleId: RoleId | null
}

export interface Grants {
  /**
   * False, and nothing is inserted, if the principal already has the role at this node. A grant that expired before
   * createdAtMs does not count: it becomes REVOKED as of its expiry.
   */
  insert(grant: Grant): Promise<boolean>
  find(id: GrantId): Promise<Grant | undefined>
  lock(id: GrantId): Promise<Grant | undefined>
  list(appId: AppId, filter: GrantFilter, page: Page): Promise<readonly Grant[]>
  /** The principal's ACTIVE grants in the app, including expired ones. */
  listOfPrincipal(principalId: PrincipalId, appId: AppId): Promise<readonly Grant[]>
  revoke(id: GrantId, nowMs: number): Promise<boolean>
  /** Revokes every live grant of the role and returns them. */
  revokeOfRole(id: RoleId, nowMs: number): Promise<readonly Grant[]>
}

export interface AccountAdministration {
  lockIdentity(id: IdentityId): Promise<Identity | undefined>
  lockAccount(id: ProviderAccountId): Promise<ProviderAccount | undefined>
  /** False if an identity already has this account key, in any status. Waits for a concurrent insert of the same key. */
  insertAccount(account: ProviderAccount): Promise<boolean>
  /**
   * Writes status, email, isRelayEmail, isContactable, refreshTokenSealed, and identityId for an account that was
   * UNLINKED.
   */
  updateAccount(account: ProviderAccount): Promise<void>
  /** Writes status, primaryEmail, deletesAtMs, updatedAtMs. */
  updateIdentity(identity: Identity): Promise<void>
  /** Identities whose deletion is due, oldest first. */
  listDueDeletions(nowMs: number, limit: number): Promise<readonly IdentityId[]>
  /**
   * Leaves tombstones: the identity and its principal become DELETED; account keys, addresses, profiles, devices and
   * names are overwritten; sessions, tokens, grants, delegations and invitations end. Ids are never reused.
   */
  erase(id: IdentityId, nowMs: number): Promise<void>
}

export interface SessionEndings {
  /** Each method revokes the matching ACTIVE sessions and their refresh tokens, and returns the session ids. */
  endByAccount(id: ProviderAccountId, reason: string, nowMs: number): Promise<readonly SessionId[]>
  endByClient(id: ProviderClientId, reason: string, nowMs: number): Promise<readonly SessionId[]>
  /** Counts the active sessions that `endByClient` ends, up to `most`. */
  countByClient(id: ProviderClientId, nowMs: number, most: number): Promise<number>
  /** Sessions of a principal in an app, or only those at the tenant or context if one is given. */
  endByMembership(
    of: Place & { principalId: PrincipalId },
    reason: string,
    nowMs: number,
  ): Promise<readonly SessionId[]>
  /** Sessions of the principal at the place that are bound to one of these devices, without `except`. */
  endByDevices(
    of: Omit<Place, "contextId"> & {
      principalId: PrincipalId
      deviceIds: readonly DeviceId[]
      except: SessionId | null
    },
    reason: string,
    nowMs: number,
  ): Promise<readonly SessionId[]>
  /** All sessions of the app, or only those at the tenant or context if one is given. */
  endByPlace(of: Place, reason: string, nowMs: number): Promise<readonly SessionId[]>
  /** Marks the place as reopened: tokens that are issued from `nowMs` on are valid there. */
  reopenPlace(of: Place, nowMs: number): Promise<void>
}
