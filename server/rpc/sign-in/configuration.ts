import { Refused } from "@signet/kernel/errors"
import type { App, ProviderClient } from "@signet/kernel/records"
import type { Deps } from "../deps.ts"
import type { Way } from "./request.ts"

/** The app and its client of this provider and platform, both active. */
export async function loadConfiguration(deps: Deps, way: Way): Promise<{ app: App; client: ProviderClient }> {
  const { app, client } = await deps.store.transaction(async (tx) => ({
    app: await tx.apps.findApp(way.appId),
    client: await tx.apps.findProviderClient(way.appId, way.provider, way.platform),
  }))
  if (app === undefined || client === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")
  if (app.status !== "ACTIVE") throw new Refused("TENANT_SUSPENDED")
  if (client.status !== "ACTIVE") throw new Refused("PROVIDER_DISABLED")
  return { app, client }
}
