import { scopesChange } from "@signet/kernel/authz/authority-change"
import type { Apps } from "@signet/kernel/ports"
import type { App, ProviderClient } from "@signet/kernel/records"
import type { Insertable, Selectable } from "kysely"
import type { AppTable, ProviderClientTable } from "../schema.ts"
import { bytesOrNull, type Database, run } from "../sql.ts"
import { raisePolicy } from "./authority.ts"

export const appColumns = [
  "id",
  "name",
  "status",
  "audiences",
  "scopes",
  "signup_enabled",
  "session_idle_seconds_web",
  "session_idle_seconds_native",
  "session_absolute_seconds",
  "retry_window_seconds",
  "allowed_origins",
  "allowed_redirect_uris",
  "require_same_device",
  "manages_identity",
  "is_installation",
  "created_at",
  "updated_at",
] as const satisfies readonly (keyof AppTable)[]

const clientColumns = [
  "id",
  "app_id",
  "provider",
  "platform",
  "status",
  "client_id",
  "issuers",
  "canonical_issuer",
  "audiences",
  "authorized_parties",
  "nonce_mode",
  "require_nonce",
  "hosted_domains",
  "signup_enabled",
  "redirect_uris",
  "jwks_uri",
  "token_endpoint",
  "client_secret_sealed",
  "provider_tenant",
  "client_key_id",
  "revocation_endpoint",
  "project_url",
  "token_secret_sealed",
  "connection",
  "display_name",
  "authorization_endpoint",
  "scopes",
  "requires_response_issuer",
  "created_at",
  "updated_at",
] as const satisfies readonly (keyof ProviderClientTable)[]

const holdText = "select status from provider_client where id = $1 for key share"

export function apps(db: Database): Apps {
  return {
    async findApp(id) {
      const row = await db.selectFrom("app").select(appColumns).where("id", "=", id).executeTakeFirst()
      return row && appFromRow(row)
    },

    async findConnections(appId, provider, platform) {
      const query = db
        .selectFrom("provider_client")
        .select(clientColumns)
        .where("app_id", "=", appId)
        .where("platform", "=", platform)
        .orderBy("provider")
        .orderBy("connection")
      const rows = await (provider === null ? query : query.where("provider", "=", provider)).execute()
      return rows.map(clientFromRow)
    },

    async holdProviderClient(id) {
      const [row] = await run<Pick<ProviderClientTable, "status">>(db, holdText, [id])
      return row?.status
    },

    async listAllowedOrigins() {
      const rows = await db.selectFrom("app").select("allowed_origins").where("status", "=", "ACTIVE").execute()
      return [...new Set(rows.flatMap((row) => row.allowed_origins))]
    },

    async putApp(app) {
      const { id, ...rest } = appToRow(app)
      const before = await db.selectFrom("app").select("scopes").where("id", "=", id).forUpdate().executeTakeFirst()
      await db
        .insertInto("app")
        .values({ id, ...rest })
        .onConflict((conflict) => conflict.column("id").doUpdateSet(rest))
        .execute()
      const change = before === undefined ? "none" : scopesChange(before.scopes, app.scopes)
      await raisePolicy(db, id, change, app.updatedAtMs)
    },

    async putProviderClient(client) {
      const { id, ...rest } = clientToRow(client)
      await db
        .insertInto("provider_client")
        .values({ id, ...rest })
        .onConflict((conflict) => conflict.column("id").doUpdateSet(rest))
        .execute()
    },
  }
}

export const appFromRow = (row: Selectable<AppTable>): App => ({
  id: row.id,
  name: row.name,
  status: row.status,
  audiences: row.audiences,
  scopes: row.scopes,
  settings: {
    signupEnabled: row.signup_enabled,
    sessionIdleSecondsWeb: row.session_idle_seconds_web,
    sessionIdleSecondsNative: row.session_idle_seconds_native,
    sessionAbsoluteSeconds: row.session_absolute_seconds,
    retryWindowSeconds: row.retry_window_seconds,
    allowedOrigins: row.allowed_origins,
    allowedRedirectUris: row.allowed_redirect_uris,
    requireSameDevice: row.require_same_device,
    managesIdentity: row.manages_identity,
  },
  isInstallation: row.is_installation,
  createdAtMs: row.created_at.getTime(),
  updatedAtMs: row.updated_at.getTime(),
})

export const appToRow = ({ settings, ...app }: App): Insertable<AppTable> => ({
  id: app.id,
  name: app.name,
  status: app.status,
  audiences: app.audiences,
  scopes: JSON.stringify(app.scopes),
  signup_enabled: settings.signupEnabled,
  session_idle_seconds_web: settings.sessionIdleSecondsWeb,
  session_idle_seconds_native: settings.sessionIdleSecondsNative,
  session_absolute_seconds: settings.sessionAbsoluteSeconds,
  retry_window_seconds: settings.retryWindowSeconds,
  allowed_origins: settings.allowedOrigins,
  allowed_redirect_uris: settings.allowedRedirectUris,
  require_same_device: settings.requireSameDevice,
  manages_identity: settings.managesIdentity,
  is_installation: app.isInstallation,
  created_at: new Date(app.createdAtMs),
  updated_at: new Date(app.updatedAtMs),
})

export const clientFromRow = (row: Selectable<ProviderClientTable>): ProviderClient => ({
  id: row.id,
  appId: row.app_id,
  provider: row.provider,
  platform: row.platform,
  status: row.status,
  clientId: row.client_id,
  issuers: row.issuers,
  canonicalIssuer: row.canonical_issuer,
  audiences: row.audiences,
  authorizedParties: row.authorized_parties,
  nonceMode: row.nonce_mode,
  requireNonce: row.require_nonce,
  hostedDomains: row.hosted_domains,
  signupEnabled: row.signup_enabled,
  redirectUris: row.redirect_uris,
  jwksUri: row.jwks_uri,
  tokenEndpoint: row.token_endpoint,
  clientSecretSealed: bytesOrNull(row.client_secret_sealed),
  providerTenant: row.provider_tenant,
  clientKeyId: row.client_key_id,
  revocationEndpoint: row.revocation_endpoint,
  projectUrl: row.project_url,
  tokenSecretSealed: bytesOrNull(row.token_secret_sealed),
  connection: row.connection,
  displayName: row.display_name,
  authorizationEndpoint: row.authorization_endpoint,
  scopes: row.scopes,
  requiresResponseIssuer: row.requires_response_issuer,
  createdAtMs: row.created_at.getTime(),
  updatedAtMs: row.updated_at.getTime(),
})

export const clientToRow = (client: ProviderClient): ProviderClientTable => ({
  id: client.id,
  app_id: client.appId,
  provider: client.provider,
  platform: client.platform,
  status: client.status,
  client_id: client.clientId,
  issuers: client.issuers,
  canonical_issuer: client.canonicalIssuer,
  audiences: client.audiences,
  authorized_parties: client.authorizedParties,
  nonce_mode: client.nonceMode,
  require_nonce: client.requireNonce,
  hosted_domains: client.hostedDomains,
  signup_enabled: client.signupEnabled,
  redirect_uris: client.redirectUris,
  jwks_uri: client.jwksUri,
  token_endpoint: client.tokenEndpoint,
  client_secret_sealed: client.clientSecretSealed,
  provider_tenant: client.providerTenant,
  client_key_id: client.clientKeyId,
  revocation_endpoint: client.revocationEndpoint,
  project_url: client.projectUrl,
  token_secret_sealed: client.tokenSecretSealed,
  connection: client.connection,
  display_name: client.displayName,
  authorization_endpoint: client.authorizationEndpoint,
  scopes: client.scopes,
  requires_response_issuer: client.requiresResponseIssuer,
  created_at: new Date(client.createdAtMs),
  updated_at: new Date(client.updatedAtMs),
})
