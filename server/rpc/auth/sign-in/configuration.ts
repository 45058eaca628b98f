import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { selectConnection } from "@signet/kernel/identity/connection"
import type { AppConnections } from "@signet/kernel/ports"
import type { App, ProviderClient } from "@signet/kernel/records"
import type { Deps } from "../../deps.ts"
import { limitedWith, type Subjects } from "../../limit.ts"
import type { Way } from "./request.ts"

export interface Configuration {
  readonly app: App
  readonly client: ProviderClient
}

/**
 * The active app, and its active client for this provider, platform and connection.
 *
 * @throws Refused PROVIDER_NOT_CONFIGURED, CONNECTION_REQUIRED, CONNECTION_UNKNOWN, TENANT_SUSPENDED, PROVIDER_DISABLED
 */
export async function loadConfiguration(deps: Deps, way: Way): Promise<Configuration> {
  return configurationOf(await deps.store.apps.findWithConnections(way.appId, way.provider, way.platform), way)
}

/**
 * As `loadConfiguration`, in the statement that counts the sign-in.
 *
 * @throws Refused RATE_LIMITED, and the reasons of `loadConfiguration`.
 */
export async function countAndLoadConfiguration(
  deps: Deps,
  context: HandlerContext,
  subjects: Subjects<"login">,
  way: Way,
): Promise<Configuration> {
  let found: AppConnections = { app: undefined, connections: [] }
  const tooMany = await limitedWith(deps, context, "login", subjects, {}, async (counting) => {
    const { app, connections, ...taken } = await deps.store.apps.countAndFind(counting, way)
    found = { app, connections }
    return taken
  })
  if (tooMany !== undefined) throw tooMany
  return configurationOf(found, way)
}

function configurationOf({ app, connections }: AppConnections, way: Way): Configuration {
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
