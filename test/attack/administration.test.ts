// Attempts by administrators to act outside their scope, and to grant more than they hold.
import type { DescMethod, JsonObject } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  administrationMethods,
  callRaw,
  type Ids,
  idKind,
  idPaths,
  isIdFilter,
  isRead,
  noIds,
  requestOf,
  snapshot,
} from "../support/administered.ts"
import { startAdministeredServer } from "../support/administered-server.ts"
import type { AdministeredWorld, AdministratorName } from "../support/administration.ts"
import { bearer, type Clients, refusal } from "../support/clients.ts"
import { sample } from "../support/effort.ts"
import { signIn } from "../support/people.ts"
import type { TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
let own: Ids
let inTenant: Ids
let inOtherTenant: Ids
let elsewhere: Ids
beforeAll(async () => {
  ;({ server, clients, world, own, inTenant, inOtherTenant, elsewhere } = await startAdministeredServer())
})
afterAll(() => server?.close())

const call = (method: DescMethod, request: JsonObject | string, by: AdministratorName) =>
  callRaw(server, method, request, world.as(by))
const named = (methods: readonly DescMethod[]) => methods.map((method) => [method.name, method] as const)
const limitCalls = ["GetLimits", "ListLockouts", "LiftLockout", "ListLockedPrincipals"]
const ofInstallation = new Set(["CreateApp", "SuspendApp", "ResumeApp", "ArchiveApp", ...limitCalls])
const isOfInstallation = ({ name }: DescMethod) => ofInstallation.has(name) || /Principal$|ProviderAccount$/.test(name)

const missing = () => noIds(() => server.deps.random.bytes(10))

describe("a resource out of the caller's scope gets the same bytes as one that does not exist", () => {
  // Runs first: the audit writes a limited number of denials for each caller, and the tests below cause more.
  test("the audit records which of the two it was", async () => {
    const [method] = administrationMethods.filter(({ name }) => name === "GetTenant")
    if (method === undefined) throw new Error("no method")
    const denials = async () => {
      const query = server.store.db.selectFrom("audit_event").select(["reason", "app_id", "tenant_id"])
      return query.where("kind", "=", "authz.denied").orderBy("id", "desc").limit(3).execute()
    }
    await call(method, requestOf(server, method, inOtherTenant), "tenantAdmin")
    await call(method, requestOf(server, method, own), "otherAdmin")
    await call(method, requestOf(server, method, missing()), "otherAdmin")
    const reasons = (await denials()).map(({ reason }) => reason)
    expect(reasons.toSorted()).toEqual(["APP_MISMATCH", "RESOURCE_UNRESOLVED", "TENANT_MISMATCH"])
    expect((await denials()).map(({ app_id }) => app_id)).toContain(world.other.id)
  })

  type Hop = [string, AdministratorName, "one by one" | "at once", () => { mine: Ids; foreign: Ids }]
  const hops: Hop[] = [
    ["an app's administrator at another app", "otherAdmin", "one by one", () => ({ mine: elsewhere, foreign: own })],
    [
      "a tenant's administrator at another tenant",
      "tenantAdmin",
      "one by one",
      () => ({ mine: inTenant, foreign: inOtherTenant }),
    ],
    ["a tenant's administrator at the app", "tenantAdmin", "at once", () => ({ mine: inTenant, foreign: own })],
    [
      "a context's administrator at another tenant",
      "contextAdmin",
      "at once",
      () => ({ mine: inTenant, foreign: inOtherTenant }),
    ],
  ]
  describe.each(sample(1, hops))("%s", (_, by, how, of) => {
    let before: string
    beforeAll(async () => {
      before = await snapshot(server)
    })
    const pick = (ids: Ids, path: string) => ids[idKind(path)]

    test.each(named(administrationMethods.filter((method) => idPaths(method).length > 0)))("%s", async (_, method) => {
      const { mine, foreign } = of()
      // Skips ids that are equal on both sides: a tenant's administrator is in the same app.
      const paths = idPaths(method).filter((path) => pick(mine, path) !== pick(foreign, path))
      const each = how === "one by one" && paths.length > 1 ? paths.map((path) => [path]) : []
      for (const change of paths.length === 0 ? [] : [...each, paths]) {
        const ask = (ids: Ids) => {
          const ways = change.map((path) => [path, pick(ids, path)])
          return call(method, requestOf(server, method, mine, Object.fromEntries(ways)), by)
        }
        const [there, nowhere] = [await ask(foreign), await ask(missing())]
        expect(there, `${change}`).toEqual(nowhere)
        // A list with a filter that matches nothing is empty.
        if (!isIdFilter(method, change))
          expect([change, there.status, there.reason]).toEqual([change, 403, "RESOURCE_UNRESOLVED"])
      }
    })

    test("changes nothing", async () => {
      expect(await snapshot(server)).toBe(before)
    })
  })

  test("a resource in the caller's scope is returned", async () => {
    const reads = administrationMethods.filter((method) => isRead(method) && !isOfInstallation(method))
    for (const method of reads) {
      expect([method.name, (await call(method, requestOf(server, method, own), "admin")).status]).toEqual([
        method.name,
        200,
      ])
    }
  })

  test.each(named(administrationMethods.filter(isOfInstallation)))(
    "only the installation's administrator may call %s",
    async (_, method) => {
      for (const by of ["admin", "tenantAdmin"] as const) {
        const answer = await call(method, requestOf(server, method, own), by)
        const expected = method.name === "CreateApp" ? "APP_MISMATCH" : "RESOURCE_UNRESOLVED"
        expect([answer.status, answer.reason]).toEqual([403, expected])
      }
    },
  )

  test.each(named(administrationMethods))("%s requires its scope", async (_, method) => {
    const { token } = await plain()
    const answer = await callRaw(server, method, requestOf(server, method, own), bearer(token))
    expect([answer.status, answer.reason]).toEqual([403, "MISSING_SCOPE"])
  })
})

let person: ReturnType<typeof signIn> | undefined
const plain = () => {
  person ??= signIn(server, clients, "nobody special", { app: world.app })
  return person
}

describe("a page token", () => {
  test("is valid only for its own list, place and filter", async () => {
    const { admin } = clients
    const appId = world.app.id
    const page = { appId, pageSize: 1 }
    const { principalId } = world.people.otherTenantAdmin
    const { id: contextId, tenantId } = world.otherContext
    await admin.createMembership({ appId, principalId, tenantId: tenantId ?? "", contextId }, world.as("root"))
    const tokens = {
      tenants: (await admin.listTenants(page, world.as("admin"))).nextPageToken,
      contexts: (await admin.listContexts(page, world.as("admin"))).nextPageToken,
      members: (await admin.listMemberships(page, world.as("admin"))).nextPageToken,
      membersOfTenant: (await admin.listMemberships({ ...page, tenantId: world.tenant.id }, world.as("admin")))
        .nextPageToken,
      membersElsewhere: (await admin.listMemberships(page, world.as("otherTenantAdmin"))).nextPageToken,
      apps: (await admin.listApps({ pageSize: 1 }, world.as("root"))).nextPageToken,
    }
    for (const [name, token] of Object.entries(tokens)) expect([name, token]).not.toEqual([name, ""])
    const wrong: (() => Promise<unknown>)[] = [
      () => admin.listTenants({ ...page, pageToken: tokens.contexts }, world.as("admin")),
      () => admin.listTenants({ appId: world.other.id, pageToken: tokens.tenants }, world.as("otherAdmin")),
      () => admin.listTenants({ ...page, pageToken: tokens.tenants }, world.as("tenantAdmin")),
      () => admin.listMemberships({ ...page, pageToken: tokens.members }, world.as("tenantAdmin")),
      () => admin.listMemberships({ ...page, pageToken: tokens.membersElsewhere }, world.as("tenantAdmin")),
      () => admin.listMemberships({ ...page, pageToken: tokens.membersOfTenant }, world.as("admin")),
      () => admin.listMemberships({ ...page, status: 3, pageToken: tokens.members }, world.as("admin")),
      () => admin.listTenants({ ...page, tenantIds: [world.tenant.id], pageToken: tokens.tenants }, world.as("admin")),
      () => admin.listContexts({ ...page, contextIds: [contextId], pageToken: tokens.contexts }, world.as("admin")),
      () =>
        admin.listMemberships({ ...page, principalIds: [principalId], pageToken: tokens.members }, world.as("admin")),
      () => admin.listApps({ pageToken: tokens.apps }, world.as("admin")),
      () => admin.listApps({ pageToken: tokens.apps.replace(/^./, (c) => (c === "A" ? "B" : "A")) }, world.as("root")),
    ]
    for (const ask of wrong) expect(await refusal(ask())).toBe("InvalidArgument INVALID_FIELD")
    // A caller in the tenant and a caller who names the tenant read the same list.
    await admin.listMemberships({ ...page, pageToken: tokens.membersOfTenant }, world.as("tenantAdmin"))
  })
})

describe("lists", () => {
  test("show an administrator only resources in their scope", async () => {
    const { admin } = clients
    const appId = world.app.id
    const by = world.as("tenantAdmin")
    expect((await admin.listApps({}, world.as("admin"))).apps.map(({ id }) => id)).toEqual([appId])
    expect(await refusal(admin.listApps({}, by))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect((await admin.listTenants({ appId }, by)).tenants.map(({ id }) => id)).toEqual([world.tenant.id])
    const places = [
      ...(await admin.listContexts({ appId }, by)).contexts,
      ...(await admin.listMemberships({ appId }, by)).memberships,
      ...(await admin.listInvitations({ appId }, by)).invitations,
      ...(await admin.listGrants({ appId }, by)).grants,
    ]
    expect(new Set(places.map(({ tenantId }) => tenantId))).toEqual(new Set([world.tenant.id]))
    const { roles } = await admin.listRoles({ appId }, by)
    expect(new Set(roles.map(({ tenantId }) => tenantId))).toEqual(new Set([world.tenant.id]))
    const inContext = world.as("contextAdmin")
    const contexts = (await admin.listContexts({ appId }, inContext)).contexts.map(({ id }) => id)
    expect(contexts).toEqual([world.context.id])
    for (const { contextId } of (await admin.listMemberships({ appId }, inContext)).memberships) {
      expect(contextId).toBe(world.context.id)
    }
  })
})

describe("a list that names ids", () => {
  type Asked = readonly [field: keyof Ids, list: (ids: string[]) => Promise<string[]>]
  const askedBy = (by: AdministratorName): Record<string, Asked> => {
    const of = { appId: by === "otherAdmin" ? world.other.id : world.app.id, pageSize: 200 }
    const { admin } = clients
    const as = world.as(by)
    return {
      tenants: [
        "tenant_id",
        async (tenantIds) => (await admin.listTenants({ ...of, tenantIds }, as)).tenants.map(idOf),
      ],
      contexts: [
        "context_id",
        async (contextIds) => (await admin.listContexts({ ...of, contextIds }, as)).contexts.map(idOf),
      ],
      members: [
        "principal_id",
        async (principalIds) =>
          (await admin.listMemberships({ ...of, principalIds }, as)).memberships.map((one) => one.principalId),
      ],
    }
  }
  const idOf = ({ id }: { id: string }) => id

  test.each<[AdministratorName, Record<string, number>]>([
    ["root", { tenants: 3, contexts: 3, members: 3 }],
    ["admin", { tenants: 3, contexts: 3, members: 3 }],
    ["otherAdmin", { tenants: 1, contexts: 1, members: 1 }],
    ["tenantAdmin", { tenants: 1, contexts: 1, members: 1 }],
    ["otherTenantAdmin", { tenants: 1, contexts: 1, members: 1 }],
  ])("of every place shows %s only those of the whole list: %j", async (by, expected) => {
    for (const [name, [field, list]] of Object.entries(askedBy(by))) {
      const ids = [own, inTenant, inOtherTenant, elsewhere, missing()].map((of) => of[field])
      const found = await list(ids)
      expect([name, new Set(found).size]).toEqual([name, expected[name]])
      expect([name, found]).toEqual([name, (await list([])).filter((id) => ids.includes(id))])
      expect([name, await list(ids.filter((id) => !found.includes(id)))]).toEqual([name, []])
    }
  })

  test("shows an administrator of a context their own context, and their tenant as little as without ids", async () => {
    const { tenants, contexts } = askedBy("contextAdmin")
    const ids = [world.context.id, world.otherContext.id]
    expect(await contexts?.[1](ids)).toEqual([world.context.id])
    expect(await contexts?.[1](ids.slice(1))).toEqual([])
    const ofTenant = [[], [world.tenant.id], [world.otherTenant.id]].map((of) =>
      refusal(tenants?.[1](of) ?? expect.fail()),
    )
    expect(new Set(await Promise.all(ofTenant))).toEqual(new Set(["PermissionDenied RESOURCE_UNRESOLVED"]))
  })

  test("takes at most 50 of them, each once, and each of its kind", async () => {
    for (const [name, [field, list]] of Object.entries(askedBy("admin"))) {
      const ids = Array.from({ length: 51 }, () => missing()[field])
      expect([name, await list(ids.slice(1))]).toEqual([name, []])
      for (const wrong of [ids, [ids[0] ?? "", ids[0] ?? ""], [own.role_id]]) {
        expect([name, await refusal(list(wrong))]).toEqual([name, "InvalidArgument INVALID_FIELD"])
      }
    }
  })
})

describe("an administrator cannot grant a scope that they do not hold", () => {
  const scopes = ["auth.apps.write"]
  test("in a new or existing membership, or in an invitation", async () => {
    const { admin } = clients
    const mere = await signIn(server, clients, "mere", {
      app: world.app,
      scopes: ["auth.members.write", "auth.members.read"],
    })
    const by = bearer(mere.token)
    const appId = world.app.id
    const before = await snapshot(server)
    const { principalId } = mere
    const mine = (await admin.listMemberships({ appId, principalId }, by)).memberships[0]
    const membershipId = mine?.id ?? ""
    const tried: (() => Promise<unknown>)[] = [
      () => admin.inviteMember({ appId, scopes }, by),
      () => admin.inviteMember({ appId, scopes: ["auth.members.read", ...scopes] }, by),
      () => admin.createMembership({ appId, principalId, tenantId: world.tenant.id, scopes }, by),
      () => admin.updateMembership({ appId, membershipId, membership: { scopes } }, by),
    ]
    for (const each of tried) expect(await refusal(each())).toBe("PermissionDenied SCOPE_NOT_GRANTED")
    expect(await snapshot(server)).toBe(before)
    await admin.inviteMember({ appId, scopes: ["auth.members.read", "notes.admin"] }, by)
    expect(await refusal(admin.inviteMember({ appId, scopes: ["notes.burn"] }, by))).toMatch(/INVALID_FIELD/)
  })

  test("an app cannot define scopes or permissions of the auth service", async () => {
    const { admin } = clients
    const appId = world.app.id
    const by = world.as("admin")
    const own = (await admin.getApp({ appId }, by)).app?.scopes ?? []
    const change = (scopes: object[]) => admin.updateApp({ appId, app: { scopes } }, by)
    const revoke = { key: "auth.revocations.write", audience: "auth" }
    expect(await refusal(change([...own, revoke]))).toBe("PermissionDenied SCOPE_NOT_GRANTED")
    expect(await refusal(change([...own, { ...revoke, audience: "svc-notes" }]))).toMatch(/INVALID_FIELD/)
    const everybody = own.map((scope) => ({ ...scope, isDefault: true }))
    expect(await refusal(change(everybody))).toMatch(/INVALID_FIELD/)
    const permission = { key: "auth.apps.write" }
    expect(await refusal(admin.createPermission({ appId, permission }, by))).toMatch(/INVALID_FIELD/)
  })

  test("a tenant's role cannot be granted outside the tenant or in another tenant", async () => {
    const { admin } = clients
    const appId = world.app.id
    const { principalId } = world.people.tenantAdmin
    const of = { appId, principalId, roleId: inTenant.role_id }
    for (const node of [{}, { tenantId: world.otherTenant.id }]) {
      expect(await refusal(admin.createGrant({ ...of, ...node }, world.as("admin")))).toMatch(/INVALID_FIELD/)
    }
    const other = { ...of, roleId: inOtherTenant.role_id, tenantId: world.tenant.id }
    expect(await refusal(admin.createGrant(other, world.as("tenantAdmin")))).toMatch(/RESOURCE_UNRESOLVED/)
  })
})

describe("the place and principal of a request", () => {
  test("are consistent: a context is named with its own tenant or with none", async () => {
    const { app_id: appId, context_id: contextId, tenant_id: own } = inTenant
    const { app } = world
    const { context } = await clients.admin.createContext(
      { appId, context: { type: "project", name: "of no tenant" } },
      world.as("admin"),
    )
    const list = (tenantId: string, of = contextId) =>
      clients.admin.listMemberships({ appId: app.id, tenantId, contextId: of }, world.as("admin"))
    for (const tenantId of [own, ""]) expect((await list(tenantId)).memberships).not.toEqual([])
    await list("", context?.id)
    const none = "PermissionDenied RESOURCE_UNRESOLVED"
    expect(await refusal(list(inOtherTenant.tenant_id))).toBe(none)
    expect(await refusal(list(own, context?.id))).toBe(none)
  })

  test("must be an active member of the app, unless the installation adds a member to the app", async () => {
    const { admin } = clients
    const appId = world.app.id
    const stranger = await signIn(server, clients, `stranger ${Math.random()}`, { app: world.other })
    const { principalId } = stranger
    const add = (tenantId: string, name: "root" | "admin") =>
      refusal(admin.createMembership({ appId, principalId, tenantId }, world.as(name)))
    const notMember = "FailedPrecondition STATE_CONFLICT"
    expect(await add(world.tenant.id, "root")).toBe(notMember)
    expect(await add("", "admin")).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    const { membership } = await admin.createMembership({ appId, principalId }, world.as("root"))
    await admin.suspendMembership({ appId, membershipId: membership?.id ?? "" }, world.as("root"))
    expect(await add(world.tenant.id, "root")).toBe(notMember)
    for (const tenantId of [world.tenant.id, ""]) expect(await add(tenantId, "admin")).toBe(notMember)
    await admin.resumeMembership({ appId, membershipId: membership?.id ?? "" }, world.as("root"))
    await admin.createMembership({ appId, principalId, tenantId: world.tenant.id }, world.as("admin"))
  })

  test("exclude a deleted principal, even for the installation", async () => {
    const { principalId } = await signIn(server, clients, "gone for good", { app: world.app })
    const { deps, store } = server
    const { identityId } = await deps.store.transaction(async (tx) => {
      const principal = await tx.identities.findPrincipal(principalId)
      return { identityId: principal?.identityId ?? expect.fail("no identity") }
    })
    await deps.store.transaction((tx) => tx.accounts.erase(identityId, deps.clock.nowMs()))
    const appId = world.app.id
    const { role_id: roleId } = own
    const root = world.as("root")
    const none = "PermissionDenied RESOURCE_UNRESOLVED"
    expect(await refusal(clients.admin.createGrant({ appId, roleId, principalId }, root))).toBe(none)
    const tenantId = world.tenant.id
    expect(await refusal(clients.admin.createMembership({ appId, principalId, tenantId }, root))).toBe(none)
    expect(await refusal(clients.admin.inviteMember({ appId, principalId, tenantId }, root))).toBe(none)
    const rows = store.db.selectFrom("membership").select("id").where("principal_id", "=", principalId)
    expect(await rows.where("tenant_id", "=", tenantId).execute()).toEqual([])
  })
})
