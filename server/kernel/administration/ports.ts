// The store as administration needs it: more members of Tx. What `lock` returns is locked until the transaction ends.
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

/** What administration adds to a unit of work. */
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
  /** The app of the installation's own administrators. */
  findInstallation(): Promise<App | undefined>
  /** False when the app's id is taken, or when it would be a second installation app. */
  insertApp(app: App): Promise<boolean>
  listApps(page: Page): Promise<readonly App[]>
  lockProviderClient(id: ProviderClientId): Promise<ProviderClient | undefined>
  /** False when the app has a client for this provider, platform and connection; nothing is inserted then. */
  insertProviderClient(client: ProviderClient): Promise<boolean>
  listProviderClients(appId: AppId, page: Page): Promise<readonly ProviderClient[]>
  /** All that take a provider's notifications: of active apps, enabled. */
  findProviderClients(provider: ProviderClient["provider"]): Promise<readonly ProviderClient[]>
}

/** Where somebody acts: an app, and inside of it a tenant, a context, both or neither. */
export interface Place {
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
}

/** Where an app, a tenant and a context stand. Undefined for what does not exist there, null for what no one asked for. */
export interface PlaceFacts {
  app: PlaceStatus | undefined
  /** Of this app. */
  tenant: PlaceStatus | undefined | null
  /** Of this app and this tenant; without a tenant, of the app itself. */
  context: PlaceStatus | undefined | null
}

export interface Places {
  find(place: Place): Promise<PlaceFacts>
  /**
   * The same, held until the transaction ends: who suspends or archives one of them waits, and then sees the session that
   * was made. Any number of transactions may hold them at once.
   */
  hold(place: Place): Promise<PlaceFacts>
}

export interface Tenants {
  insert(tenant: Tenant): Promise<void>
  find(id: TenantId): Promise<Tenant | undefined>
  lock(id: TenantId): Promise<Tenant | undefined>
  list(appId: AppId, page: Page): Promise<readonly Tenant[]>
  /** Writes what may change: name, status, updatedAtMs. */
  update(tenant: Tenant): Promise<void>
}

export interface Contexts {
  insert(context: Context): Promise<void>
  find(id: ContextId): Promise<Context | undefined>
  lock(id: ContextId): Promise<Context | undefined>
  /** Of the app; with a tenant, of that tenant only. */
  list(appId: AppId, tenantId: TenantId | null, page: Page): Promise<readonly Context[]>
  /** Writes what may change: type, name, status, updatedAtMs. */
  update(context: Context): Promise<void>
}

export interface MemberFilter {
  tenantId: TenantId | null
  contextId: ContextId | null
  status: Membership["status"] | null
  principalId: PrincipalId | null
}

export interface Members {
  find(id: MembershipId): Promise<Membership | undefined>
  lock(id: MembershipId): Promise<Membership | undefined>
  /** A null of the filter does not narrow. */
  list(appId: AppId, filter: MemberFilter, page: Page): Promise<readonly Membership[]>
  /** Which of these are active users with an active membership of the app, and of the tenant if there is one. */
  activeUsers(ids: readonly PrincipalId[], place: Omit<Place, "contextId">): Promise<readonly PrincipalId[]>
  /** Those of them who are gone from the place for good: neither active nor suspended there, or not known at all. */
  goneUsers(ids: readonly PrincipalId[], place: Omit<Place, "contextId">): Promise<readonly PrincipalId[]>
  /** Every membership of the principal, in every app. */
  listOfPrincipal(id: PrincipalId): Promise<readonly Membership[]>
  /** Writes what may change: status, profile, scopes, updatedAtMs. */
  update(membership: Membership): Promise<void>
}

export interface Invitations {
  insert(invitation: Invitation): Promise<void>
  lock(id: InvitationId): Promise<Invitation | undefined>
  /** By keyed hash, under every pepper in use. Of two who present the code at once, the second sees what the first did. */
  lockByCode(hashes: readonly Uint8Array[]): Promise<Invitation | undefined>
  /** The pending one that a membership is INVITED by. */
  lockByMembership(id: MembershipId): Promise<Invitation | undefined>
  /** A null of the filter does not narrow. */
  list(
    appId: AppId,
    filter: { tenantId: TenantId | null; contextId: ContextId | null },
    page: Page,
  ): Promise<readonly Invitation[]>
  /** Writes status, answeredAtMs, membershipId. */
  update(invitation: Invitation): Promise<void>
}

export interface Roles {
  /** False when the app has a permission of this key. */
  insertPermission(permission: Permission): Promise<boolean>
  /** Held until the transaction ends: none of them is deleted before the role that will name them is there. */
  findPermissions(appId: AppId, keys: readonly string[]): Promise<readonly Permission[]>
  listPermissions(appId: AppId, page: Page): Promise<readonly Permission[]>
  /** Writes what may change: the description. */
  updatePermission(permission: Permission): Promise<void>
  /** False when a role that is not archived, or a scope of the app, names it. */
  deletePermission(permission: Permission, nowMs: number): Promise<boolean>
  /** False when an active role of this key is there, in the app or the same tenant. */
  insert(role: Role): Promise<boolean>
  find(id: RoleId): Promise<Role | undefined>
  lock(id: RoleId): Promise<Role | undefined>
  /** The app's own roles, and with a tenant also that tenant's; never another tenant's. */
  list(appId: AppId, tenantId: TenantId | null, page: Page): Promise<readonly Role[]>
  /** Writes what may change: description, permissions, inheritable, assignableAt, status, updatedAtMs. */
  update(role: Role): Promise<void>
}

export interface GrantFilter {
  tenantId: TenantId | null
  contextId: ContextId | null
  principalId: PrincipalId | null
  roleId: RoleId | null
}

export interface Grants {
  /**
   * False when the principal has the role at this node; nothing is inserted then. A grant there that ran out before
   * createdAtMs is no obstacle: it becomes REVOKED as of its expiry.
   */
  insert(grant: Grant): Promise<boolean>
  find(id: GrantId): Promise<Grant | undefined>
  lock(id: GrantId): Promise<Grant | undefined>
  list(appId: AppId, filter: GrantFilter, page: Page): Promise<readonly Grant[]>
  /** Grants of the principal in the app that are ACTIVE, those that ran out among them. */
  listOfPrincipal(principalId: PrincipalId, appId: AppId): Promise<readonly Grant[]>
  revoke(id: GrantId, nowMs: number): Promise<boolean>
  /** Ends every live grant of the role, as when it is archived. Returns the ended ones. */
  revokeOfRole(id: RoleId, nowMs: number): Promise<readonly Grant[]>
}

export interface AccountAdministration {
  lockIdentity(id: IdentityId): Promise<Identity | undefined>
  lockAccount(id: ProviderAccountId): Promise<ProviderAccount | undefined>
  /** False when the account's key is taken, by whatever identity and in whatever status. Waits for one that is under way. */
  insertAccount(account: ProviderAccount): Promise<boolean>
  /** Writes what may change: status, email, isRelayEmail, isContactable, refreshTokenSealed, and identityId for an account that was UNLINKED. */
  updateAccount(account: ProviderAccount): Promise<void>
  /** Writes status, primaryEmail, deletesAtMs, updatedAtMs. */
  updateIdentity(identity: Identity): Promise<void>
  /** Whose deletion is due, oldest first. */
  listDueDeletions(nowMs: number, limit: number): Promise<readonly IdentityId[]>
  /**
   * Leaves tombstones: the identity and its principal are DELETED, account keys, addresses, profiles, devices and names
   * are overwritten, sessions, tokens, grants, delegations and invitations end. Ids stay taken for ever.
   */
  erase(id: IdentityId, nowMs: number): Promise<void>
}

export interface SessionEndings {
  /** Each ends what is ACTIVE with its refresh tokens, and returns the ended ones' ids. */
  endByAccount(id: ProviderAccountId, reason: string, nowMs: number): Promise<readonly SessionId[]>
  endByClient(id: ProviderClientId, reason: string, nowMs: number): Promise<readonly SessionId[]>
  /** Of a principal in an app; with a tenant or context, those that are signed in there. */
  endByMembership(
    of: Place & { principalId: PrincipalId },
    reason: string,
    nowMs: number,
  ): Promise<readonly SessionId[]>
  /** Of the principal at the place, those that are bound to one of these devices; but not `except`. */
  endByDevices(
    of: Omit<Place, "contextId"> & {
      principalId: PrincipalId
      deviceIds: readonly DeviceId[]
      except: SessionId | null
    },
    reason: string,
    nowMs: number,
  ): Promise<readonly SessionId[]>
  /** Of everybody in the app; with a tenant or context, those that are signed in there. */
  endByPlace(of: Place, reason: string, nowMs: number): Promise<readonly SessionId[]>
  /** The place acts again: tokens that are issued from now on count. */
  reopenPlace(of: Place, nowMs: number): Promise<void>
}
