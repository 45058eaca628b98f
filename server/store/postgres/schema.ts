// The kysely types of the tables. Rows have Date where records have milliseconds; other values are equal.
import type {
  AppId,
  ContextId,
  DeviceId,
  IdentityId,
  MagicLinkRequestId,
  MembershipId,
  PrincipalId,
  ProviderAccountId,
  ProviderClientId,
  RefreshTokenId,
  SessionId,
  TenantId,
} from "@signet/kernel/ids"
import type { PublicJwk, SigningKeyRecord } from "@signet/kernel/keys/ports"
import type {
  App,
  AppScope,
  Identity,
  Membership,
  Platform,
  Principal,
  Provider,
  ProviderAccount,
  ProviderClient,
  Session,
} from "@signet/kernel/records"
import type { JSONColumnType } from "kysely"
import type { AdminTables } from "./admin/admin-schema.ts"
import type { AuditTables } from "./audit/audit-schema.ts"
import type { IssuerKeyTable, ReceiptKeyTable, SealingTables } from "./keys/key-schema.ts"
import type { LimitTables } from "./limits/limit-schema.ts"
import type { MachineTables } from "./machine/machine-schema.ts"

type Texts = readonly string[]

export interface Tables extends MachineTables, LimitTables, AdminTables, AuditTables, SealingTables {
  app: AppTable
  provider_client: ProviderClientTable
  identity: IdentityTable
  provider_account: ProviderAccountTable
  principal: PrincipalTable
  membership: MembershipTable
  session: SessionTable
  refresh_token: RefreshTokenTable
  magic_link_request: MagicLinkRequestTable
  id_token_use: { token_hash: Uint8Array; expires_at: Date }
  signing_key: SigningKeyTable
  signing_key_set: { id: number; version: number }
  issuer_key: IssuerKeyTable
  receipt_key: ReceiptKeyTable
  migration_checksum: { name: string; sha256: string }
}

export interface AppTable {
  id: AppId
  name: string
  status: App["status"]
  audiences: Texts
  scopes: JSONColumnType<readonly AppScope[]>
  signup_enabled: boolean
  session_idle_seconds_web: number
  session_idle_seconds_native: number
  session_absolute_seconds: number
  retry_window_seconds: number
  allowed_origins: Texts
  allowed_redirect_uris: Texts
  require_same_device: boolean
  manages_identity: boolean
  is_installation: boolean
  created_at: Date
  updated_at: Date
}

export interface ProviderClientTable {
  id: ProviderClientId
  app_id: AppId
  provider: Provider
  platform: Platform
  status: ProviderClient["status"]
  client_id: string
  issuers: Texts
  canonical_issuer: string
  audiences: Texts
  authorized_parties: Texts
  nonce_mode: ProviderClient["nonceMode"]
  require_nonce: boolean
  hosted_domains: Texts
  signup_enabled: boolean
  redirect_uris: Texts
  jwks_uri: string
  token_endpoint: string | null
  client_secret_sealed: Uint8Array | null
  provider_tenant: string | null
  client_key_id: string | null
  revocation_endpoint: string | null
  project_url: string | null
  token_secret_sealed: Uint8Array | null
  connection: string
  display_name: string
  authorization_endpoint: string | null
  scopes: Texts
  requires_response_issuer: boolean
  created_at: Date
  updated_at: Date
}

export interface IdentityTable {
  id: IdentityId
  status: Identity["status"]
  primary_email: string | null
  deletes_at: Date | null
  created_at: Date
  updated_at: Date
}

export interface ProviderAccountTable {
  id: ProviderAccountId
  identity_id: IdentityId
  provider: Provider
  issuer: string
  subject: string
  provider_tenant: string | null
  email: string | null
  is_relay_email: boolean
  is_contactable: boolean
  refresh_token_sealed: Uint8Array | null
  status: ProviderAccount["status"]
  created_at: Date
  last_used_at: Date | null
}

export interface PrincipalTable {
  id: PrincipalId
  kind: Principal["kind"]
  identity_id: IdentityId | null
  status: Principal["status"]
  deactivated_at: Date | null
  lock_expires_at: Date | null
  lock_reason: string | null
}

export interface MembershipTable {
  id: MembershipId
  principal_id: PrincipalId
  app_id: AppId
  tenant_id: TenantId | null
  context_id: ContextId | null
  status: Membership["status"]
  profile: JSONColumnType<Membership["profile"]>
  scopes: Texts
  created_at: Date
  updated_at: Date
}

export interface SessionTable {
  id: SessionId
  principal_id: PrincipalId
  identity_id: IdentityId
  app_id: AppId
  tenant_id: TenantId | null
  context_id: ContextId | null
  provider_account_id: ProviderAccountId
  provider_client_id: ProviderClientId
  platform: Platform
  amr: Texts
  audiences: Texts
  auth_time_at: Date | null
  status: Session["status"]
  created_at: Date
  last_refreshed_at: Date | null
  idle_expires_at: Date
  absolute_expires_at: Date
  rotation: number
  device_id: string
  device_label: string
  device_os: string
  device_app_version: string
  bound_device_id: DeviceId | null
  user_agent: string
  cookie_mode: boolean
  revoked_at: Date | null
  revoke_reason: string | null
}

export interface RefreshTokenTable {
  id: RefreshTokenId
  session_id: SessionId
  token_hash: Uint8Array
  family_id: string
  previous_token_id: RefreshTokenId | null
  created_at: Date
  used_at: Date | null
  rotated_at: Date | null
  expires_at: Date
  revoked_at: Date | null
  retry_key_hash: Uint8Array | null
  successor_sealed: Uint8Array | null
  confirmed_at: Date | null
}

interface MagicLinkRequestTable {
  id: MagicLinkRequestId
  email_hash: Uint8Array
  app_id: AppId
  code_challenge: string | null
  expires_at: Date
}

export interface SigningKeyTable {
  kid: string
  purpose: SigningKeyRecord["purpose"]
  status: SigningKeyRecord["status"]
  public_jwk: JSONColumnType<PublicJwk>
  private_sealed: Uint8Array
  created_at: Date
  activated_at: Date | null
  retired_at: Date | null
}
