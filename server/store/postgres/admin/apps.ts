import { scopesChange } from "@signet/kernel/authz/authority-change"
import type { Apps } from "@signet/kernel/ports"
import type { App, ProviderClient } from "@signet/kernel/records"
import { bytea, instant, json, rowMapping } from "../row-mapping.ts"
import type { AppTable, ProviderClientTable } from "../schema.ts"
import { type Database, run } from "../sql.ts"
import { raisePolicy } from "./authority.ts"

export const appRows = rowMapping<App, AppTable>({
  id: "id",
  name: "name",
  status: "status",
  audiences: "audiences",
  scopes: json("scopes"),
  settings: {
    signupEnabled: "signup_enabled",
    sessionIdleSecondsWeb: "session_idle_seconds_web",
    sessionIdleSecondsNative: "session_idle_seconds_native",
    sessionAbsoluteSeconds: "session_absolute_seconds",
    retryWindowSeconds: "retry_window_seconds",
    allowedOrigins: "allowed_origins",
    allowedRedirectUris: "allowed_redirect_uris",
    requireSameDevice: "require_same_device",
    managesIdentity: "manages_identity",
  },
  isInstallation: "is_installation",
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
})

export const clientRows = rowMapping<ProviderClient, ProviderClientTable>({
  id: "id",
  appId: "app_id",
  provider: "provider",
  platform: "platform",
  status: "status",
  clientId: "client_id",
  issuers: "issuers",
  canonicalIssuer: "canonical_issuer",
  audiences: "audiences",
  authorizedParties: "authorized_parties",
  nonceMode: "nonce_mode",
  requireNonce: "require_nonce",
  hostedDomains: "hosted_domains",
  signupEnabled: "signup_enabled",
  redirectUris: "redirect_uris",
  jwksUri: "jwks_uri",
  tokenEndpoint: "token_endpoint",
  clientSecretSealed: bytea("client_secret_sealed"),
  providerTenant: "provider_tenant",
  clientKeyId: "client_key_id",
  revocationEndpoint: "revocation_endpoint",
  projectUrl: "project_url",
  tokenSecretSealed: bytea("token_secret_sealed"),
  connection: "connection",
  displayName: "display_name",
  authorizationEndpoint: "authorization_endpoint",
  scopes: "scopes",
  requiresResponseIssuer: "requires_response_issuer",
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
})

const holdText = "select status from provider_client where id = $1 for key share"

export function apps(db: Database): Apps {
  return {
    async findApp(id) {
      const row = await db.selectFrom("app").select(appRows.columns).where("id", "=", id).executeTakeFirst()
      return row && appRows.fromRow(row)
    },

    async findConnections(appId, provider, platform) {
      const query = db
        .selectFrom("provider_client")
        .select(clientRows.columns)
        .where("app_id", "=", appId)
        .where("platform", "=", platform)
        .orderBy("provider")
        .orderBy("connection")
      const rows = await (provider === null ? query : query.where("provider", "=", provider)).execute()
      return rows.map(clientRows.fromRow)
    },

    async lockSharedProviderClient(id) {
      const [row] = await run<Pick<ProviderClientTable, "status">>(db, holdText, [id])
      return row?.status
    },

    async listAllowedOrigins() {
      const rows = await db.selectFrom("app").select("allowed_origins").where("status", "=", "ACTIVE").execute()
      return [...new Set(rows.flatMap((row) => row.allowed_origins))]
    },

    async putApp(app) {
      const { id, ...rest } = appRows.toRow(app)
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
      const { id, ...rest } = clientRows.toRow(client)
      await db
        .insertInto("provider_client")
        .values({ id, ...rest })
        .onConflict((conflict) => conflict.column("id").doUpdateSet(rest))
        .execute()
    },
  }
}
