// What administrators manage inside an app. Times are milliseconds since the Unix epoch; null means never or none.
import type {
  AppId,
  ContextId,
  GrantId,
  InvitationId,
  MembershipId,
  PermissionId,
  PrincipalId,
  RoleId,
  TenantId,
} from "../ids.ts"

/** Where an app, a tenant or a context stands. ACTIVE and SUSPENDED go both ways; ARCHIVED is the end. */
export type PlaceStatus = "ACTIVE" | "SUSPENDED" | "ARCHIVED"

/** An organization inside an app. */
export interface Tenant {
  id: TenantId
  appId: AppId
  name: string
  status: PlaceStatus
  createdAtMs: number
  updatedAtMs: number
}

/** A place inside an app or a tenant: a project, a team, a workspace. */
export interface Context {
  id: ContextId
  appId: AppId
  tenantId: TenantId | null
  /** What kind of place, in the app's words. */
  type: string
  name: string
  status: PlaceStatus
  createdAtMs: number
  updatedAtMs: number
}

/** Something that may be done. Its key, "<service>.<resource>.<verb>", is unique in the app and never changes. */
export interface Permission {
  id: PermissionId
  appId: AppId
  key: string
  description: string
  createdAtMs: number
}

/** The levels of the hierarchy app > tenant > context > resource. */
export type GrantLevel = "APP" | "TENANT" | "CONTEXT" | "RESOURCE"

/** Permissions under one name. */
export interface Role {
  id: RoleId
  appId: AppId
  /** A role of one tenant is assigned there and below only; null for a role of the app. */
  tenantId: TenantId | null
  /** Unique among the app's, or the tenant's, roles that are not archived. */
  key: string
  description: string
  /** Keys of the app's permissions. */
  permissions: readonly string[]
  /** A grant of it covers everything below its node. */
  inheritable: boolean
  assignableAt: readonly GrantLevel[]
  status: "ACTIVE" | "ARCHIVED"
  createdAtMs: number
  updatedAtMs: number
}

/** Where a grant holds: a node of the hierarchy. The fields that are null are not narrowed. */
export interface GrantNode {
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  resource: { type: string; id: string } | null
}

/** A role for a principal at a node. Allow-only: nothing is taken away by a grant. */
export interface Grant extends GrantNode {
  id: GrantId
  principalId: PrincipalId
  roleId: RoleId
  /** It holds before, and not at it. */
  expiresAtMs: number | null
  grantedBy: PrincipalId
  /** Why, in the administrator's words. */
  reason: string
  status: "ACTIVE" | "REVOKED"
  createdAtMs: number
  revokedAtMs: number | null
}

/** An offer of a membership, taken once by whoever presents its code. Only the code's keyed hash is kept. */
export interface Invitation {
  id: InvitationId
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  /** Who alone may take it; null for whoever has the code. */
  principalId: PrincipalId | null
  /** HMAC-SHA-256 under the pepper: 32 bytes. */
  codeHash: Uint8Array
  /** Scopes of the membership besides the app's defaults. */
  scopes: readonly string[]
  invitedBy: PrincipalId
  /** A PENDING one whose time is over is EXPIRED: computed, not stored. */
  status: "PENDING" | "ACCEPTED" | "DECLINED" | "REVOKED"
  createdAtMs: number
  expiresAtMs: number
  answeredAtMs: number | null
  /** What came of it; for a known person the INVITED membership from the beginning. */
  membershipId: MembershipId | null
}
