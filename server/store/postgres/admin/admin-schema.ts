// The kysely types of the tables in 0004_administration.sql; schema.ts has the others.
import type { Context, Grant, GrantLevel, Invitation, PlaceStatus, Role } from "@signet/kernel/administration/records"
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
} from "@signet/kernel/ids"

type Texts = readonly string[]

export interface AdminTables {
  tenant: TenantTable
  context: ContextTable
  permission: PermissionTable
  role: RoleTable
  role_grant: GrantTable
  invitation: InvitationTable
  password_hold: PasswordHoldTable
}

interface PasswordHoldTable {
  account_hash: Uint8Array
  held_at: Date
}

export interface TenantTable {
  id: TenantId
  app_id: AppId
  name: string
  status: PlaceStatus
  created_at: Date
  updated_at: Date
}

export interface ContextTable {
  id: ContextId
  app_id: AppId
  tenant_id: TenantId | null
  type: Context["type"]
  name: string
  status: PlaceStatus
  created_at: Date
  updated_at: Date
}

export interface PermissionTable {
  id: PermissionId
  app_id: AppId
  key: string
  description: string
  created_at: Date
}

export interface RoleTable {
  id: RoleId
  app_id: AppId
  tenant_id: TenantId | null
  key: string
  description: string
  permissions: Texts
  inheritable: boolean
  assignable_at: readonly GrantLevel[]
  status: Role["status"]
  created_at: Date
  updated_at: Date
}

export interface GrantTable {
  id: GrantId
  principal_id: PrincipalId
  role_id: RoleId
  app_id: AppId
  tenant_id: TenantId | null
  context_id: ContextId | null
  resource_type: string | null
  resource_id: string | null
  expires_at: Date | null
  granted_by: PrincipalId
  reason: string
  status: Grant["status"]
  created_at: Date
  revoked_at: Date | null
}

export interface InvitationTable {
  id: InvitationId
  app_id: AppId
  tenant_id: TenantId | null
  context_id: ContextId | null
  principal_id: PrincipalId | null
  code_hash: Uint8Array
  scopes: Texts
  invited_by: PrincipalId
  status: Invitation["status"]
  created_at: Date
  expires_at: Date
  answered_at: Date | null
  membership_id: MembershipId | null
}
