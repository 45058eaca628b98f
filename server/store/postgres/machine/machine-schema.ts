// The kysely types of the tables in 0002_machines.sql; schema.ts has the others.
import type {
  AppId,
  ContextId,
  DelegationId,
  DelegationPolicyId,
  IdentityId,
  PatId,
  PrincipalId,
  ServiceAccountId,
  ServiceSecretId,
  TenantId,
} from "@signet/kernel/ids"
import type { ClientAuthMethod, Pat, Revocation, ServiceAccount } from "@signet/kernel/machine/records"
import type { Generated } from "kysely"

type Texts = readonly string[]

export interface MachineTables {
  pat: PatTable
  service_account: ServiceAccountTable
  owned_audience: { audience: string; service_account_id: ServiceAccountId }
  service_secret: ServiceSecretTable
  service_key: ServiceKeyTable
  envelope_key: EnvelopeKeyTable
  delegation_policy: DelegationPolicyTable
  delegation: DelegationTable
  revocation: {
    kind: Revocation["kind"]
    key: string
    app_id: AppId | ""
    min_version: string | number | null
    expires_at: Date
    issued_before: Generated<Date | null>
    seq: Generated<string | number | null>
    is_pending: Generated<boolean>
  }
  revocation_log: { id: number; name: string; head: string | number }
  authority_version: {
    principal_id: PrincipalId
    app_id: AppId
    version: string | number
    min_version: string | number
  }
  policy_version: { app_id: AppId; version: string | number; min_version: string | number }
  client_assertion_use: { client_id: string; jti: string; expires_at: Date }
}

export interface PatTable {
  id: PatId
  principal_id: PrincipalId
  identity_id: IdentityId
  app_id: AppId
  tenant_id: TenantId | null
  context_id: ContextId | null
  name: string
  token_hash: Uint8Array
  last4: string
  allowed_audiences: Texts
  scopes: Texts
  created_at: Date
  expires_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
  revoke_reason: Pat["revokeReason"]
}

export interface ServiceAccountTable {
  id: ServiceAccountId
  principal_id: PrincipalId
  app_id: AppId
  tenant_id: TenantId | null
  name: string
  client_id: string
  status: ServiceAccount["status"]
  auth_methods: readonly ClientAuthMethod[]
  allowed_audiences: Texts
  scopes: Texts
  default_scopes: Texts
  created_at: Date
}

export interface ServiceSecretTable {
  id: ServiceSecretId
  service_account_id: ServiceAccountId
  secret_hash: Uint8Array
  hint: string
  created_at: Date
  expires_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
}

export interface ServiceKeyTable {
  service_account_id: ServiceAccountId
  kid: string
  x: string
  y: string
  created_at: Date
  revoked_at: Date | null
}

/** The table in 0012_envelopes.sql. */
export interface EnvelopeKeyTable {
  kid: string
  service_account_id: ServiceAccountId
  x: string
  y: string
  mailboxes: Texts
  created_at: Date
  revoked_at: Date | null
}

export interface DelegationPolicyTable {
  id: DelegationPolicyId
  app_id: AppId
  tenant_id: TenantId | null
  actor_principal_id: PrincipalId
  audiences: Texts
  scopes: Texts
  max_seconds: number
  allow_standing: boolean
  created_at: Date
  revoked_at: Date | null
}

export interface DelegationTable {
  id: DelegationId
  policy_id: DelegationPolicyId
  app_id: AppId
  tenant_id: TenantId | null
  context_id: ContextId | null
  subject_principal_id: PrincipalId
  actor_principal_id: PrincipalId
  audiences: Texts
  scopes: Texts
  created_at: Date
  expires_at: Date
  revoked_at: Date | null
}
