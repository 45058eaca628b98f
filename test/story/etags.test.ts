// Two administrators edit one record: the second save is refused and names what has changed (AIP-154).

import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredServer, startAdministeredServer } from "../support/administered-server.ts"
import { type Clients, clientsOver, protocols } from "../support/clients.ts"
import { sample } from "../support/effort.ts"
import { describeStory } from "../support/postgres.ts"

describeStory("an etag", (kind) => {
  let at: AdministeredServer
  beforeAll(async () => {
    at = await startAdministeredServer({ store: kind })
  })
  afterAll(() => at?.server.close())

  /** One call of each update: the record, a first change, a second one, and the field that the first changes. */
  const updates = (clients: Clients) => {
    const { admin } = clients
    const root = at.world.as("root")
    const { own } = at
    const appId = own.app_id
    const membership = { appId, membershipId: own.membership_id }
    const client = { appId, providerClientId: own.provider_client_id }
    const tenant = { appId, tenantId: own.tenant_id }
    const context = { appId, contextId: own.context_id }
    const role = { appId, roleId: own.role_id }
    const permission = { appId, permissionKey: own.permission_key }
    const settings = (idle: number) => ({ settings: { sessionIdleSecondsWeb: idle } })
    return {
      app: {
        field: "settings.session_idle_seconds_web",
        read: async () => (await admin.getApp({ appId }, root)).app,
        update: async (n: number, etag: string) =>
          (await admin.updateApp({ appId, app: { ...settings(600 + n), etag } }, root)).app,
      },
      connection: {
        field: "display_name",
        read: async () => (await admin.getProviderClient(client, root)).providerClient,
        update: async (n: number, etag: string) =>
          (await admin.updateProviderClient({ ...client, providerClient: { displayName: `${n}`, etag } }, root))
            .providerClient,
      },
      tenant: {
        field: "name",
        read: async () => (await admin.getTenant(tenant, root)).tenant,
        update: async (n: number, etag: string) =>
          (await admin.updateTenant({ ...tenant, tenant: { name: `${n}`, etag } }, root)).tenant,
      },
      context: {
        field: "name",
        read: async () => (await admin.getContext(context, root)).context,
        update: async (n: number, etag: string) =>
          (await admin.updateContext({ ...context, context: { name: `${n}`, etag } }, root)).context,
      },
      membership: {
        field: "profile.name",
        read: async () => (await admin.getMembership(membership, root)).membership,
        update: async (n: number, etag: string) =>
          (await admin.updateMembership({ ...membership, membership: { profile: { name: `${n}` }, etag } }, root))
            .membership,
      },
      role: {
        field: "description",
        read: async () => (await admin.getRole(role, root)).role,
        update: async (n: number, etag: string) =>
          (await admin.updateRole({ ...role, role: { description: `${n}`, etag } }, root)).role,
      },
      permission: {
        field: "description",
        read: async () => {
          const { permissions } = await admin.listPermissions({ appId, pageSize: 200 }, root)
          return permissions.find(({ key }) => key === own.permission_key)
        },
        update: async (n: number, etag: string) =>
          (await admin.updatePermission({ ...permission, permission: { description: `${n}`, etag } }, root)).permission,
      },
    }
  }

  const names = Object.keys(protocols)
  describe.each(sample(1, names))("over %s", (protocol) => {
    let records: ReturnType<typeof updates>
    beforeAll(() => {
      records = updates(clientsOver(must(protocols[protocol])(at.server.url)))
    })
    const offset = names.indexOf(protocol) * 10

    test.each(["app", "connection", "tenant", "context", "membership", "role", "permission"] as const)(
      "refuses an outdated update of a record: %s",
      async (name) => {
        const { field, read, update } = records[name]
        const opened = must(await read())
        expect(opened.etag).not.toBe("")
        const first = must(await update(offset + 1, opened.etag))
        expect(first.etag).not.toBe(opened.etag)
        expect(await read()).toEqual(first)

        expect(await refusalWith(update(offset + 2, opened.etag))).toEqual({
          refusal: "Aborted ETAG_MISMATCH",
          changed: field,
        })
        expect(await read()).toEqual(first)

        // The same change again is in effect already: a retry after a lost response succeeds and writes nothing.
        expect(await update(offset + 1, opened.etag)).toEqual(first)
        // Without an etag nothing is checked.
        const third = must(await update(offset + 3, ""))
        expect(third.etag).not.toBe(first.etag)
      },
    )
  })

  test("changes with a secret that no response contains", async () => {
    const { connection } = updates(at.clients)
    const root = at.world.as("root")
    const client = { appId: at.own.app_id, providerClientId: at.own.provider_client_id }
    const replace = (clientSecret: string) =>
      at.clients.admin.updateProviderClient({ ...client, providerClient: { clientSecret } }, root)
    await replace("first")
    const opened = must(await connection.read())
    await replace("second")
    const expected = { refusal: "Aborted ETAG_MISMATCH", changed: "client_secret" }
    expect(await refusalWith(connection.update(99, opened.etag))).toEqual(expected)
  })

  test("of another record, or a made-up one, is outdated", async () => {
    const { role, app } = updates(at.clients)
    const foreign = must(await app.read()).etag
    for (const etag of [foreign, "x", "1:", ",,:", "__proto__:a,6.1.1:b"]) {
      expect(await refusalWith(role.update(77, etag))).toMatchObject({ refusal: "Aborted ETAG_MISMATCH" })
    }
    expect(must(await role.read()).description).not.toBe("77")
  })

  test("of two saves at once, one succeeds", async () => {
    const { tenant } = updates(at.clients)
    const { etag } = must(await tenant.read())
    const saves = await Promise.allSettled([201, 202, 203, 204].map((n) => tenant.update(n, etag)))
    expect(saves.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  })

  test("saving what was not changed writes neither the record nor an event", async () => {
    const { role } = updates(at.clients)
    const opened = must(await role.read())
    const count = async () =>
      (await at.server.store.db.selectFrom("audit_event").select("id").where("kind", "=", "role.updated").execute())
        .length
    const before = await count()
    const root = at.world.as("root")
    const { description, permissions, inheritable, etag } = opened
    const same = { description, permissions, inheritable, etag }
    await at.clients.admin.updateRole({ appId: at.own.app_id, roleId: at.own.role_id, role: same }, root)
    expect(await role.read()).toEqual(opened)
    expect(await count()).toBe(before)
  })
})

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("missing")
  return value
}

async function refusalWith(call: Promise<unknown>): Promise<{ refusal: string; changed: string | undefined }> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error),
  )
  if (thrown === undefined) throw new Error("the call was not refused")
  const [info] = thrown.findDetails(ErrorInfoSchema)
  return { refusal: `${Code[thrown.code]} ${info?.reason}`, changed: info?.metadata.changed }
}
