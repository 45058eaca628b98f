// Administrators of a test server at different places: the installation, its app, another app, a tenant, a context.

import type { Context, Tenant } from "@signet/kernel/administration/records"
import { administrationScopes } from "@signet/kernel/administration/scopes"
import { newId } from "@signet/kernel/ids"
import type { App } from "@signet/kernel/records"
import { bearer, type Clients } from "./clients.ts"
import { type SignedInPerson, signIn } from "./people.ts"
import type { TestServer } from "./server.ts"

export interface AdministeredWorld {
  /** The app whose administrators manage every app. */
  readonly installation: App
  readonly app: App
  readonly other: App
  /** Belongs to `app`. */
  readonly tenant: Tenant
  readonly otherTenant: Tenant
  /** In `tenant`. */
  readonly context: Context
  /** In `otherTenant`. */
  readonly otherContext: Context
  readonly people: Readonly<Record<AdministratorName, SignedInPerson>>
  /** Call options of an administrator. */
  as(name: AdministratorName): { headers: Record<string, string> }
}

export type AdministratorName = "root" | "admin" | "otherAdmin" | "tenantAdmin" | "otherTenantAdmin" | "contextAdmin"

/** Inserts them into the store with every administration scope, and signs them in. */
export async function administeredWorld(server: TestServer, clients: Clients): Promise<AdministeredWorld> {
  const { deps } = server
  const nowMs = deps.clock.nowMs()
  const id = <K extends Parameters<typeof newId>[0]>(kind: K) => newId(kind, nowMs, deps.random.bytes(10))
  const scopes = [
    ...server.app.scopes,
    ...administrationScopes.map((key) => ({ key, audience: "auth", isDefault: false })),
  ]
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs }
  const app: App = { ...server.app, scopes }
  const other: App = { ...app, id: id("app"), name: "Other" }
  const installation: App = { ...app, id: id("app"), name: "Installation", isInstallation: true }
  const tenantOf = (name: string): Tenant => ({ id: id("ten"), appId: app.id, name, status: "ACTIVE", ...times })
  const tenant = tenantOf("Tenant")
  const otherTenant = tenantOf("Other tenant")
  const contextOf = ({ id: tenantId }: Tenant): Context => {
    const named = { type: "project", name: "Project", status: "ACTIVE" } as const
    return { id: id("ctx"), appId: app.id, tenantId, ...named, ...times }
  }
  const context = contextOf(tenant)
  const otherContext = contextOf(otherTenant)
  await deps.store.transaction(async (tx) => {
    for (const each of [app, other, installation]) await tx.apps.putApp(each)
    for (const { id: appId } of [other, installation]) {
      await tx.apps.putProviderClient({ ...server.client, id: id("pcl"), appId })
    }
    for (const each of [tenant, otherTenant]) await tx.tenants.insert(each)
    for (const each of [context, otherContext]) await tx.contexts.insert(each)
  })
  const administrator = (of: object) =>
    signIn(server, clients, `admin ${Math.random()}`, { app, scopes: administrationScopes, ...of })
  const people = {
    root: await administrator({ app: installation }),
    admin: await administrator({}),
    otherAdmin: await administrator({ app: other }),
    tenantAdmin: await administrator({ tenantId: tenant.id }),
    otherTenantAdmin: await administrator({ tenantId: otherTenant.id }),
    contextAdmin: await administrator({ tenantId: tenant.id, contextId: context.id }),
  }
  const as = (name: AdministratorName) => bearer(people[name].token)
  return { installation, app, other, tenant, otherTenant, context, otherContext, people, as }
}
