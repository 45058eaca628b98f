import { Refused } from "@signet/kernel/errors"
import { selectConnection } from "@signet/kernel/identity/connection"
import type { App, ProviderClient } from "@signet/kernel/records"
import type { Deps } from "../../deps.ts"
import type { Way } from "./request.ts"

/**
 * The active app, and its active client for this provider, platform and connection.
 *
 * @throws Refused PROVIDER_NOT_CONFIGURED, CONNECTION_REQUIRED, CONNECTION_UNKNOWN, TENANT_SUSPENDED, PROVIDER_DISABLED
 */
export async function loadConfiguration(deps: Deps, way: Way): Promise<{ app: App; client: ProviderClient }> {
  const { app, connections } = await deps.store.apps.findWithConnections(way.appId, way.provider, way.platform)
  const selected = selectConnection(connections, way.connection)
  if (app === undefined || selected.is === "none") throw new Refused("PROVIDER_NOT_CONFIGURED")
  if (selected.is === "refuse") {
    throw new Refused(selected.reason, { metadata: { field: "connection", connections: selected.names.join(",") } })
  }
  const { client } = selected
  if (app.status !== "ACTIVE") throw new Refused("TENANT_SUSPENDED")
  if (client.status !== "ACTIVE") throw new Refused("PROVIDER_DISABLED")
  return { app, client }
}
