// Records that administrators manage inside an app. Times are milliseconds since the Unix epoch; null means never or
// none.
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

/** Status of an app, a tenant or a context. ACTIVE and SUSPENDED alternate; ARCHIVED is final. */
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

/** A project, team or workspace inside an app or a tenant. */
export interface Context {
  id: ContextId
  appId: AppId
  tenantId: TenantId | null
  /** The kind of context, named by the app. */
  type: string
  name: string
  status: PlaceStatus
  createdAtMs: number
  updatedAtMs: number
}

/** An action that can be granted. Its key, "<service>.<resource>.<verb>", is unique in the app and never changes. */
export interface Permission {
  id: PermissionId
  appId: AppId
  key: string
  description: string
  createdAtMs: number
}

/** The levels of the hierarchy app > tenant > context > resource. */
export type GrantLevel = "APP" | "TENANT" | "CONTEXT" | "RESOURCE"

/** A named set of permissions. */
export interface Role {
  id: RoleId
  appId: AppId
  /** A tenant's role can be granted only in that tenant and below; null for a role of the app. */
  tenantId: TenantId | null
  /** Unique among the roles of the app, or of the tenant, that are not archived. */
  key: string
  description: string
  /** Keys of the app's permissions. */
  permissions: readonly string[]
  /** If true, a grant also covers everything below its node. */
  inheritable: boolean
  assignableAt: readonly GrantLevel[]
  status: "ACTIVE" | "ARCHIVED"
  createdAtMs: number
  updatedAtMs: number
}

/** A node of the hierarchy at which a grant applies. A null field does not narrow it. */
export interface GrantNode {
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  resource: { type: string; id: string } | null
}

/** A role that a principal has at a node. Grants only allow; they never deny. */
export interface Grant extends GrantNode {
  id: GrantId
  principalId: PrincipalId
  roleId: RoleId
  /** Expires at this time (exclusive). */
  expiresAtMs: number | null
  grantedBy: PrincipalId
  /** The administrator's free text. */
  reason: string
  status: "ACTIVE" | "REVOKED"
  createdAtMs: number
  revokedAtMs: number | null
}

/** An offer of a membership. Its code can be used once; only the code's keyed hash is stored. */
export interface Invitation {
  id: InvitationId
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  /** The only principal who may accept it; null if the code is enough. */
  principalId: PrincipalId | null
  /** HMAC-SHA-256 under the pepper: 32 bytes. */
  codeHash: Uint8Array
  /** Scopes of the membership besides the app's defaults. */
  scopes: readonly string[]
  invitedBy: PrincipalId
  /** EXPIRED is computed from PENDING and expiresAtMs, never stored. */
  status: "PENDING" | "ACCEPTED" | "DECLINED" | "REVOKED"
  createdAtMs: number
  expiresAtMs: number
  answeredAtMs: number | null
  /** The membership that it created. An invitation of a known principal creates an INVITED membership at once. */
  membershipId: MembershipId | null
}
