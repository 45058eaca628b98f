// A server with an administrator at every level and one record of each kind at each place.

import { type Ids, makeOneOfEach } from "./administered.ts"
import { type AdministeredWorld, type AdministratorName, administeredWorld } from "./administration.ts"
import { type Clients, clientsOver, protocols } from "./clients.ts"
import { storyStore } from "./postgres.ts"
import { startTestServer, type TestServer, type TestServerOptions } from "./server.ts"

export interface AdministeredServer {
  readonly server: TestServer
  readonly clients: Clients
  readonly world: AdministeredWorld
  /** In the app, and in a tenant of it that no other administrator manages. */
  readonly own: Ids
  readonly inTenant: Ids
  readonly inOtherTenant: Ids
  /** In another app. */
  readonly elsewhere: Ids
}

export async function startAdministeredServer(options: Partial<TestServerOptions> = {}): Promise<AdministeredServer> {
  const server = await startTestServer({ store: storyStore, ...options })
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  const clients = clientsOver(connect(server.url))
  const world = await administeredWorld(server, clients)
  const root = world.as("root")
  const { app, other, tenant, otherTenant, context, otherContext, people } = world
  const accountOf = async (name: AdministratorName) => {
    const { principalId, sessionId } = people[name]
    const { providerAccounts } = await clients.admin.getPrincipal({ principalId }, root)
    return { principalId, sessionId, providerAccountId: providerAccounts[0]?.id ?? "" }
  }
  const place = { appId: app.id, tenantId: "", contextId: "" }
  const own = await makeOneOfEach(clients, root, { ...place, ...(await accountOf("admin")) })
  const at = { ...place, tenantId: tenant.id, contextId: context.id }
  const inTenant = await makeOneOfEach(clients, root, { ...at, ...(await accountOf("tenantAdmin")) })
  const otherAt = { ...place, tenantId: otherTenant.id, contextId: otherContext.id }
  const inOtherTenant = await makeOneOfEach(clients, root, { ...otherAt, ...(await accountOf("otherTenantAdmin")) })
  const inOther = { ...place, appId: other.id, ...(await accountOf("otherAdmin")) }
  const elsewhere = await makeOneOfEach(clients, root, inOther)
  return { server, clients, world, own, inTenant, inOtherTenant, elsewhere }
}
