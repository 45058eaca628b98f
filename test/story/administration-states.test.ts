// Each state with each administrative transition, over the wire, and the sessions that end on suspension.
import type { DescMethod } from "@bufbuild/protobuf"
import { newId } from "@signet/kernel/ids"
import { Invitation_Status } from "@signet/proto/auth/v1/memberships"
import { Membership_Status, Platform, Provider } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { administrationMethods, callRaw, type Ids, makeOneOfEach, noIds, requestOf } from "../support/administered.ts"
import { type AdministeredServer, startAdministeredServer } from "../support/administered-server.ts"
import { bearer, refusal } from "../support/clients.ts"
import { sample } from "../support/effort.ts"
import { addMachine } from "../support/machines.ts"
import { signIn } from "../support/people.ts"

let all: AdministeredServer
let ids: Ids
beforeAll(async () => {
  all = await startAdministeredServer()
  const { clients, world, server } = all
  const { principalId } = await signIn(server, clients, "subject of all this", { app: world.other })
  const { providerAccounts } = await clients.admin.getPrincipal({ principalId }, world.as("root"))
  const where = { appId: world.other.id, tenantId: "", contextId: "", principalId }
  ids = await makeOneOfEach(clients, world.as("root"), { ...where, providerAccountId: providerAccounts[0]?.id ?? "" })
})
afterAll(() => all?.server.close())

const methodOf = (name: string): DescMethod => {
  const method = administrationMethods.find((each) => each.name === name)
  if (method === undefined) throw new Error(name)
  return method
}

/**
 * A resource, its table, its states, and the result of each transition per state: a state, = for no change, or - for a
 * refusal.
 */
const tables: [
  string,
  (
    | "app"
    | "tenant"
    | "context"
    | "provider_client"
    | "membership"
    | "invitation"
    | "role"
    | "principal"
    | "provider_account"
  ),
  keyof Ids,
  string,
  Record<string, string>,
][] = [
  [
    "App",
    "app",
    "app_id",
    "ACTIVE SUSPENDED ARCHIVED",
    { Suspend: "SUSPENDED = -", Resume: "= ACTIVE -", Archive: "ARCHIVED ARCHIVED =" },
  ],
  [
    "Tenant",
    "tenant",
    "tenant_id",
    "ACTIVE SUSPENDED ARCHIVED",
    { Suspend: "SUSPENDED = -", Resume: "= ACTIVE -", Archive: "ARCHIVED ARCHIVED =" },
  ],
  [
    "Context",
    "context",
    "context_id",
    "ACTIVE SUSPENDED ARCHIVED",
    { Suspend: "SUSPENDED = -", Resume: "= ACTIVE -", Archive: "ARCHIVED ARCHIVED =" },
  ],
  [
    "ProviderClient",
    "provider_client",
    "provider_client_id",
    "ACTIVE DISABLED",
    { Disable: "DISABLED =", Enable: "= ACTIVE" },
  ],
  [
    "Membership",
    "membership",
    "membership_id",
    "INVITED REQUESTED ACTIVE SUSPENDED REMOVED DECLINED REJECTED EXPIRED",
    {
      Suspend: "- - SUSPENDED = - - - -",
      Resume: "- - = ACTIVE - - - -",
      Remove: "REMOVED - REMOVED REMOVED = - - -",
      Approve: "- ACTIVE = - - - - -",
      Reject: "- REJECTED - - - - = -",
    },
  ],
  ["Invitation", "invitation", "invitation_id", "PENDING ACCEPTED DECLINED REVOKED", { Revoke: "REVOKED - - =" }],
  ["Role", "role", "role_id", "ACTIVE ARCHIVED", { Archive: "ARCHIVED =" }],
  [
    "Principal",
    "principal",
    "principal_id",
    "ACTIVE SUSPENDED LOCKED DEACTIVATED DELETED",
    {
      Lock: "LOCKED - = - -",
      Unlock: "= - ACTIVE - -",
      Suspend: "SUSPENDED = SUSPENDED - -",
      Resume: "= ACTIVE - - -",
      Deactivate: "DEACTIVATED DEACTIVATED DEACTIVATED = -",
      Reactivate: "= - - ACTIVE -",
    },
  ],
  [
    "ProviderAccount",
    "provider_account",
    "provider_account_id",
    "LINKED REVOKED BLOCKED UNLINKED",
    { Block: "BLOCKED - = -", Unblock: "= - LINKED -" },
  ],
]

describe.each(tables)("%s", (thing, table, idName, states, moves) => {
  test.each(Object.entries(moves))(`%s${thing}: %s`, async (move, row) => {
    const { server, world } = all
    const method = methodOf(`${move}${thing}`)
    for (const [index, expected] of row.split(" ").entries()) {
      const from = states.split(" ")[index] ?? ""
      await put(table, ids[idName], from)
      const answer = await callRaw(server, method, requestOf(server, method, ids), world.as("root"))
      const to = expected === "=" || expected === "-" ? from : expected
      expect([from, answer.reason]).toEqual([from, expected === "-" ? "STATE_CONFLICT" : ""])
      expect([from, await statusOf(table, ids[idName])]).toEqual([from, to])
      if (expected !== "-") expect(answer.text).toContain(`"status":"${to}"`)
    }
    await put(table, ids[idName], states.split(" ")[0] ?? "")
  })
})

async function put(table: (typeof tables)[number][1], id: string, status: string): Promise<void> {
  const answered = table === "invitation" ? { answered_at: status === "PENDING" ? null : new Date() } : {}
  const ofPrincipal = {
    deactivated_at: status === "DEACTIVATED" ? new Date() : null,
    lock_expires_at: status === "LOCKED" ? new Date() : null,
  }
  const change = { status, ...answered, ...(table === "principal" ? ofPrincipal : {}) }
  await all.server.store.db
    .updateTable(table)
    .set(change as never)
    .where("id", "=", id as never)
    .execute()
}

async function statusOf(table: (typeof tables)[number][1], id: string): Promise<string> {
  const query = all.server.store.db
    .selectFrom(table)
    .select("status")
    .where("id", "=", id as never)
  return (await query.executeTakeFirstOrThrow()).status
}

test("a deactivated principal can be reactivated within 30 days, and not after", async () => {
  const { clients, world, server } = all
  const principalId = ids.principal_id
  const back = () => clients.admin.reactivatePrincipal({ principalId }, world.as("root"))
  const since = async (days: number) => {
    await put("principal", principalId, "DEACTIVATED")
    const at = new Date(server.deps.clock.nowMs() - days * 86_400_000 - 1_000)
    await server.store.db
      .updateTable("principal")
      .set({ deactivated_at: at })
      .where("id", "=", principalId as never)
      .execute()
  }
  await since(30)
  expect(await refusal(back())).toMatch(/STATE_CONFLICT/)
  await since(29)
  await back()
  expect(await statusOf("principal", principalId)).toBe("ACTIVE")
})

describe("a suspension ends the sessions in the suspended place, and no others", () => {
  type Person = Awaited<ReturnType<typeof signIn>>
  interface Scene {
    /** Signed in to the app, its tenant, and the tenant's context. */
    inApp: Person
    inTenant: Person
    inContext: Person
    /** Signed in to the app, without a membership in the tenant. */
    bystander: Person
    stop(name: string): Promise<void>
  }

  async function scene(): Promise<Scene> {
    const { clients, world, server } = all
    const root = world.as("root")
    const app = { ...world.app, id: newId("app", server.deps.clock.nowMs(), server.deps.random.bytes(10)) }
    const pcl = newId("pcl", server.deps.clock.nowMs(), server.deps.random.bytes(10))
    await server.deps.store.transaction(async (tx) => {
      await tx.apps.putApp(app)
      await tx.apps.putProviderClient({ ...server.client, id: pcl, appId: app.id })
    })
    const subject = `subject ${Math.random()}`
    const inApp = await signIn(server, clients, subject, { app })
    const { providerAccounts } = await clients.admin.getPrincipal({ principalId: inApp.principalId }, root)
    const providerAccountId = providerAccounts[0]?.id ?? ""
    const where = { appId: app.id, tenantId: "", contextId: "", principalId: inApp.principalId, providerAccountId }
    const at = await makeOneOfEach(clients, root, where)
    const [tenantId, contextId] = [at.tenant_id as never, at.context_id as never]
    return {
      inApp,
      inTenant: await signIn(server, clients, subject, { app, tenantId }),
      inContext: await signIn(server, clients, subject, { app, tenantId, contextId }),
      bystander: await signIn(server, clients, `bystander ${Math.random()}`, { app }),
      async stop(name) {
        const method = methodOf(name)
        const answer = await callRaw(server, method, requestOf(server, method, at), root)
        expect([name, answer.status]).toEqual([name, 200])
      },
    }
  }

  const nobody = { inApp: false, inTenant: false, inContext: false, bystander: false }
  const everybody = { inApp: true, inTenant: true, inContext: true, bystander: true }
  const theirs = { ...everybody, bystander: false }
  const inside = { ...nobody, inTenant: true, inContext: true }
  /** The transitions of one scene, in order, with the people whose sessions have ended after each. */
  const courses: Record<string, typeof nobody>[] = [
    { SuspendContext: { ...nobody, inContext: true }, SuspendTenant: inside, SuspendApp: everybody },
    { ArchiveContext: { ...nobody, inContext: true }, ArchiveTenant: inside, ArchiveApp: everybody },
    { SuspendMembership: inside, SuspendPrincipal: theirs, DisableProviderClient: everybody },
    { RemoveMembership: inside, BlockProviderAccount: theirs },
  ]
  test.each(sample(1, courses).map((course) => [Object.keys(course).join(", "), course] as const))(
    "%s",
    async (_, course) => {
      const { clients, server } = all
      const { stop, ...people } = await scene()
      for (const [name, ended] of Object.entries(course)) {
        await stop(name)
        const states: Record<string, boolean> = {}
        for (const who of ["inApp", "inTenant", "inContext", "bystander"] as const) {
          const { refreshToken, token } = people[who]
          const { sid } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())
          const row = await server.store.db
            .selectFrom("session")
            .select("status")
            .where("id", "=", sid)
            .executeTakeFirst()
          states[who] = row?.status !== "ACTIVE"
          const revoked = await server.deps.store.transaction((tx) =>
            tx.revocations.find([sid], server.deps.clock.nowMs()),
          )
          expect([who, revoked.length > 0]).toEqual([who, ended[who]])
          const isRefused = await clients.auth.me({}, bearer(token)).then(
            () => false,
            // The session of a member with fewer permissions continues with a new token.
            async (error: unknown) => !(await refusal(Promise.reject(error))).endsWith("PERMISSIONS_STALE"),
          )
          expect([who, isRefused]).toEqual([who, ended[who]])
          if (ended[who])
            expect(await refusal(clients.auth.refresh({ refreshToken }))).toMatch(
              /REFRESH_TOKEN_INVALID|SESSION_REVOKED/,
            )
        }
        expect(states).toEqual(ended)
      }
    },
  )
})

test.each<[string, "app" | "tenant" | "context" | "role", keyof Ids]>([
  ["App", "app", "app_id"],
  ["Tenant", "tenant", "tenant_id"],
  ["Context", "context", "context_id"],
  ["Role", "role", "role_id"],
])("an archived %s is not updated", async (thing, table, idName) => {
  const { server, world } = all
  const method = methodOf(`Update${thing}`)
  const update = () => callRaw(server, method, requestOf(server, method, ids), world.as("root"))
  await put(table, ids[idName], "ARCHIVED")
  expect((await update()).reason).toBe("STATE_CONFLICT")
  await put(table, ids[idName], "ACTIVE")
  expect((await update()).reason).toBe("")
})

test("a place's name is not blank", async () => {
  const { clients, world } = all
  const { id: appId } = world.app
  const root = world.as("root")
  const calls = [
    () => clients.admin.createTenant({ appId, tenant: { name: " \t" } }, root),
    () => clients.admin.createContext({ appId, context: { type: "bed", name: " " } }, root),
    () => clients.admin.updateTenant({ appId, tenantId: world.tenant.id, tenant: { name: " " } }, root),
  ]
  for (const call of calls) expect(await refusal(call())).toBe("InvalidArgument INVALID_FIELD")
})

test("an unknown principal or provider account is neither locked nor blocked", async () => {
  const { server, world } = all
  for (const name of ["LockPrincipal", "SuspendPrincipal", "BlockProviderAccount"]) {
    const method = methodOf(name)
    const request = requestOf(
      server,
      method,
      noIds(() => server.deps.random.bytes(10)),
    )
    expect([name, (await callRaw(server, method, request, world.as("root"))).reason]).toEqual([
      name,
      "RESOURCE_UNRESOLVED",
    ])
  }
})

test("a service's principal has neither an identity nor a provider account", async () => {
  const { clients, world, server } = all
  const { account } = await addMachine(server)
  const { principalId } = account
  const answer = await clients.admin.getPrincipal({ principalId }, world.as("root"))
  expect(answer).toMatchObject({ principal: { id: principalId }, providerAccounts: [] })
  expect(answer.identity).toBeUndefined()
})

test("a principal is added without an invitation only if it is an active member of the app", async () => {
  const { clients, world, server } = all
  const { admin } = clients
  const root = world.as("root")
  const { id: appId } = world.app
  const { principalId } = await signIn(server, clients, "of another app", { app: world.other })
  const { context } = await admin.createContext({ appId, context: { type: "bed", name: "No tenant" } }, root)
  const places = [
    { appId, tenantId: world.tenant.id },
    { appId, contextId: context?.id ?? "" },
  ]
  const refusals = (of: string) =>
    Promise.all(places.map((place) => refusal(admin.createMembership({ ...place, principalId: of }, root))))
  expect(await refusals(principalId)).toEqual(places.map(() => "FailedPrecondition STATE_CONFLICT"))

  const paused = (await signIn(server, clients, "paused member", { app: world.app })).principalId
  const { memberships } = await admin.listMemberships({ appId, principalId: paused }, root)
  await admin.suspendMembership({ appId, membershipId: memberships[0]?.id ?? "" }, root)
  expect(await refusals(paused)).toEqual(places.map(() => "FailedPrecondition STATE_CONFLICT"))
  const own = { appId, membershipId: memberships[0]?.id ?? "" }
  await admin.resumeMembership(own, root)
  for (const place of places) {
    const { membership } = await admin.createMembership({ ...place, principalId: paused }, root)
    expect(membership).toMatchObject({ ...place, status: Membership_Status.ACTIVE })
  }
  const profile = { email: "paused@example.com" }
  expect((await admin.updateMembership({ ...own, membership: { profile } }, root)).membership?.profile).toMatchObject(
    profile,
  )
  // An active member is not invited to the same place.
  for (const place of places) {
    expect(await refusal(admin.inviteMember({ ...place, principalId: paused }, root))).toBe(
      "AlreadyExists ALREADY_EXISTS",
    )
  }
})

test("a principal has at most 200 grants, and an expired grant does not count", async () => {
  const { clients, world, server } = all
  const { admin } = clients
  const root = world.as("root")
  const { id: appId } = world.app
  const { principalId } = await signIn(server, clients, "much granted", { app: world.app })
  const { role } = await admin.createRole({ appId, role: { key: "granted" } }, root)
  const roleId = role?.id ?? ""
  const give = (id: string) => admin.createGrant({ appId, principalId, roleId, resource: { type: "bed", id } }, root)
  const first = (await give("0")).grant?.id ?? ""
  const { db } = server.store
  const grant = await db
    .selectFrom("role_grant")
    .selectAll()
    .where("id", "=", first as never)
    .executeTakeFirstOrThrow()
  const more = Array.from({ length: 199 }, (_, at) => {
    const id = newId("grt", 1, server.deps.random.bytes(10))
    return { ...grant, id, resource_id: `${at + 1}` }
  })
  await db.insertInto("role_grant").values(more).execute()
  expect(await refusal(give("200"))).toMatch(/GRANT_LIMIT/)
  const isFirst = db.updateTable("role_grant").where("id", "=", first as never)
  await isFirst.set({ expires_at: new Date(server.deps.clock.nowMs() - 1) }).execute()
  expect((await give("200")).grant?.principalId).toBe(principalId)
})

test("the installation's own app cannot be suspended or archived", async () => {
  const { clients, world } = all
  const appId = world.installation.id
  expect(await refusal(clients.admin.suspendApp({ appId }, world.as("root")))).toMatch(/IN_USE/)
  expect(await refusal(clients.admin.archiveApp({ appId }, world.as("root")))).toMatch(/IN_USE/)
  expect((await clients.admin.resumeApp({ appId }, world.as("root"))).app?.id).toBe(appId)
})

test("a removal ends the memberships below, the grants and the invitations", async () => {
  const { clients, world, server } = all
  const root = world.as("root")
  const { principalId } = await signIn(server, clients, "leaver", { app: world.app })
  const { id: appId } = world.app
  const tenantId = world.tenant.id
  await clients.admin.createMembership({ appId, tenantId, principalId }, root)
  const { role } = await clients.admin.createRole({ appId, role: { key: "leaver" } }, root)
  const { grant } = await clients.admin.createGrant({ appId, tenantId, principalId, roleId: role?.id ?? "" }, root)
  const asked = { appId, tenantId, contextId: world.context.id, principalId }
  const { invitation } = await clients.admin.inviteMember(asked, root)
  expect(await refusal(clients.admin.inviteMember(asked, root))).toMatch(/ALREADY_EXISTS/)
  const { memberships } = await clients.admin.listMemberships({ appId, principalId }, root)
  expect(memberships.map(({ status }) => status).toSorted()).toEqual([1, 3, 3])
  const whole = memberships.find((each) => each.tenantId === "")
  await clients.admin.removeMembership({ appId, membershipId: whole?.id ?? "" }, root)
  const after = await clients.admin.listMemberships({ appId, principalId }, root)
  expect(after.memberships.map(({ status }) => status)).toEqual([5, 5, 5])
  expect((await clients.admin.getGrant({ appId, grantId: grant?.id ?? "" }, root)).grant?.status).toBe(3)
  const { invitations } = await clients.admin.listInvitations({ appId }, root)
  expect(invitations.find(({ id }) => id === invitation?.id)?.status).toBe(4)
})

test("a suspended principal gets no grant until it is active again", async () => {
  const { clients, world, server } = all
  const root = world.as("root")
  const { principalId } = await signIn(server, clients, "paused", { app: world.app })
  const { id: appId } = world.app
  const { role } = await clients.admin.createRole({ appId, role: { key: "paused" } }, root)
  const { memberships } = await clients.admin.listMemberships({ appId, principalId }, root)
  const membershipId = memberships[0]?.id ?? ""
  const give = () => clients.admin.createGrant({ appId, principalId, roleId: role?.id ?? "" }, root)
  await clients.admin.suspendMembership({ appId, membershipId }, root)
  expect(await refusal(give())).toBe("FailedPrecondition STATE_CONFLICT")
  await clients.admin.resumeMembership({ appId, membershipId }, root)
  expect((await give()).grant?.principalId).toBe(principalId)
})

test("a removed membership is not updated", async () => {
  const { clients, world, server } = all
  const root = world.as("root")
  const appId = world.app.id
  const { principalId } = await signIn(server, clients, "removed", { app: world.app })
  const place = { appId, tenantId: world.tenant.id }
  const { membership: made } = await clients.admin.createMembership({ ...place, principalId }, root)
  const of = { appId, membershipId: made?.id ?? "" }
  await clients.admin.removeMembership(of, root)
  const update = clients.admin.updateMembership({ ...of, membership: { profile: { name: "Ada" } } }, root)
  expect(await refusal(update)).toBe("FailedPrecondition STATE_CONFLICT")
})

test("an archived app gets neither a permission nor a provider client", async () => {
  const { clients, world, server } = all
  const root = world.as("root")
  const { app } = await clients.admin.createApp({ app: { name: "Closed" } }, root)
  const appId = app?.id ?? ""
  const { clientId, jwksUri, issuers } = server.client
  const providerClient = {
    provider: Provider.IDP_A,
    platform: Platform.WEB,
    clientId,
    issuers: [...issuers],
    jwksUri: jwksUri ?? "",
  }
  await clients.admin.archiveApp({ appId }, root)
  const permission = { key: "closed.door.open" }
  const refused = "FailedPrecondition STATE_CONFLICT"
  expect(await refusal(clients.admin.createPermission({ appId, permission }, root))).toBe(refused)
  expect(await refusal(clients.admin.createProviderClient({ appId, providerClient }, root))).toBe(refused)
})

test("an expired invitation does not block the next one", async () => {
  const { clients, world, server } = all
  const root = world.as("root")
  const { principalId } = await signIn(server, clients, "slow", { app: world.app })
  const asked = { appId: world.app.id, tenantId: world.tenant.id, principalId, expiresInHours: 1 }
  const first = await clients.admin.inviteMember(asked, root)
  const { id = "" } = first.invitation ?? {}
  const past = new Date(server.deps.clock.nowMs() - 1)
  await server.store.db
    .updateTable("invitation")
    .set({ expires_at: past })
    .where("id", "=", id as never)
    .execute()
  const second = await clients.admin.inviteMember(asked, root)
  expect(second.invitation?.membershipId).not.toBe(first.invitation?.membershipId)
  const { membership } = await clients.admin.getMembership(
    { appId: world.app.id, membershipId: first.invitation?.membershipId ?? "" },
    root,
  )
  expect(membership?.status).toBe(8)
})

test("a declined invitation ends with its membership, and does not block the next one", async () => {
  const { clients, world, server } = all
  const root = world.as("root")
  const { principalId, token } = await signIn(server, clients, "declines", { app: world.app })
  const appId = world.app.id
  const asked = { appId, tenantId: world.tenant.id, principalId }
  const first = await clients.admin.inviteMember(asked, root)
  const decline = () => clients.account.declineInvitation({ code: first.code }, bearer(token))
  await decline()
  const membershipId = first.invitation?.membershipId ?? ""
  const { membership } = await clients.admin.getMembership({ appId, membershipId }, root)
  expect(membership?.status).toBe(Membership_Status.DECLINED)
  const { invitations } = await clients.admin.listInvitations({ appId }, root)
  const declined = invitations.find(({ id }) => id === first.invitation?.id)
  expect(declined?.status).toBe(Invitation_Status.DECLINED)
  expect(await refusal(decline())).toBe("PermissionDenied INVITATION_INVALID")
  const accept = clients.account.acceptInvitation({ code: first.code }, bearer(token))
  expect(await refusal(accept)).toBe("PermissionDenied INVITATION_INVALID")
  const written = await server.store.db
    .selectFrom("audit_event")
    .select("outcome")
    .where("kind", "=", "membership.declined")
    .where("actor_principal_id", "=", principalId)
    .orderBy("id")
    .execute()
  expect(written.map(({ outcome }) => outcome)).toEqual(["SUCCESS", "DENIED"])
  const second = await clients.admin.inviteMember(asked, root)
  await clients.account.acceptInvitation({ code: second.code }, bearer(token))
})

test.each(["declined", "revoked"])(
  "an invitation that is %s leaves a membership that another one activated",
  async (how) => {
    const { clients, world, server } = all
    const root = world.as("root")
    const appId = world.app.id
    const { principalId, token } = await signIn(server, clients, `twice invited, one ${how}`, { app: world.app })
    const place = { appId, tenantId: world.tenant.id }
    const named = await clients.admin.inviteMember({ ...place, principalId }, root)
    const open = await clients.admin.inviteMember(place, root)
    const { membership } = await clients.account.acceptInvitation({ code: open.code }, bearer(token))
    expect(membership).toMatchObject({ id: named.invitation?.membershipId, status: Membership_Status.ACTIVE })
    if (how === "declined") await clients.account.declineInvitation({ code: named.code }, bearer(token))
    else await clients.admin.revokeInvitation({ appId, invitationId: named.invitation?.id ?? "" }, root)
    const after = await clients.admin.getMembership({ appId, membershipId: membership?.id ?? "" }, root)
    expect(after.membership?.status).toBe(Membership_Status.ACTIVE)
  },
)

test("an invitation is answered in its own app, and accepted only while its tenant is active", async () => {
  const { clients, world, server } = all
  const root = world.as("root")
  const appId = world.app.id
  const { principalId, token } = await signIn(server, clients, "of two apps", { app: world.app })
  const elsewhere = await signIn(server, clients, "of two apps", { app: world.other })
  expect(elsewhere.principalId).toBe(principalId)
  const { tenant } = await clients.admin.createTenant({ appId, tenant: { name: "Closing" } }, root)
  const tenantId = tenant?.id ?? ""
  const { code, invitation } = await clients.admin.inviteMember({ appId, tenantId, principalId }, root)
  const { account } = clients
  for (const answer of [account.acceptInvitation, account.declineInvitation]) {
    expect(await refusal(answer({ code }, bearer(elsewhere.token)))).toBe("PermissionDenied INVITATION_INVALID")
  }
  await clients.admin.suspendTenant({ appId, tenantId }, root)
  const accept = () => account.acceptInvitation({ code }, bearer(token))
  expect(await refusal(accept())).toBe("PermissionDenied TENANT_SUSPENDED")
  await clients.admin.resumeTenant({ appId, tenantId }, root)
  await accept()
  const { invitations } = await clients.admin.listInvitations({ appId, tenantId }, root)
  const { status } = invitations.find(({ id }) => id === invitation?.id) ?? {}
  expect(status).toBe(Invitation_Status.ACCEPTED)
})
