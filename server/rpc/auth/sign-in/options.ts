import type { MessageInitShape } from "@bufbuild/protobuf"
import { Refused } from "@signet/kernel/errors"
import { offered, scopesOf } from "@signet/kernel/identity/connection"
import type { AppId } from "@signet/kernel/ids"
import type { Platform, ProviderClient } from "@signet/kernel/records"
import type { SignInOptionSchema } from "@signet/proto/auth/v1/auth_service"
import { ProviderClient_NonceMode } from "@signet/proto/auth/v1/provider_clients"
import { Provider } from "@signet/proto/auth/v1/records"
import type { Deps } from "../../deps.ts"

type Option = MessageInitShape<typeof SignInOptionSchema>

/**
 * The options of an app's sign-in page. All of it is public.
 *
 * @throws Refused TENANT_SUSPENDED; PROVIDER_NOT_CONFIGURED, alike for an unknown app and for one without a provider.
 */
export async function signInOptions(deps: Deps, appId: AppId, platform: Platform): Promise<Option[]> {
  const { app, connections } = await deps.store.transaction(async (tx) => ({
    app: await tx.apps.findApp(appId),
    connections: await tx.apps.findConnections(appId, null, platform),
  }))
  if (app === undefined || connections.length === 0) throw new Refused("PROVIDER_NOT_CONFIGURED")
  if (app.status !== "ACTIVE") throw new Refused("TENANT_SUSPENDED")
  return offered(connections).map(optionOf)
}

/** Lists each public field, so a new field of the client stays private. */
function optionOf(client: ProviderClient): Option {
  const { provider, connection } = client
  const common = { provider: Provider[provider], connection, displayName: client.displayName || connection || provider }
  // Signet itself is the client of an IDP_C project, so the page needs no more.
  if (provider === "IDP_C") return common
  return {
    ...common,
    clientId: client.clientId,
    authorizationEndpoint: client.authorizationEndpoint ?? "",
    scopes: [...scopesOf(client)],
    issuers: [...client.issuers],
    requiresResponseIssuer: client.requiresResponseIssuer,
    nonceMode: ProviderClient_NonceMode[client.nonceMode],
  }
}
