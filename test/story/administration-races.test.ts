// Administrators who make the same change at the same time: one succeeds, and the result is consistent.
import { administrationScopes } from "@signet/kernel/administration/scopes"
import { Membership_Status, Platform, Provider } from "@signet/proto/auth/v1/records"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type AdministeredServer, startAdministeredServer } from "../support/administered-server.ts"
import { bearer, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { signIn } from "../support/people.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { untilWaiting } from "../support/waiting.ts"

const atOnce = 6

describeOnPostgres("administrators at once", () => {
  let all: AdministeredServer
  beforeAll(async () => {
    all = await startAdministeredServer({ store: "postgres" })
  })
  afterAll(() => all?.server.close())
  const root = () => all.world.as("root")

  /** "ok" or the refusal of each call, sorted. */
  async function outcomes(calls: (() => Promise<unknown>)[]): Promise<string[]> {
    const settled = await Promise.all(
      calls.map(async (call) => {
        const asked = call()
        return asked.then(
          () => "ok",
          () => refusal(asked),
        )
      }),
    )
    return settled.toSorted()
  }
  const times = (call: () => Promise<unknown>) => outcomes(Array.from({ length: atOnce }, () => call))
  const once = [...Array.from({ length: atOnce - 1 }, () => "AlreadyExists ALREADY_EXISTS"), "ok"]
  const kinds = async (kind: string) => {
    const query = all.server.store.db
      .selectFrom("audit_event")
      .select("id")
      .where("kind", "=", kind as never)
    return (await query.execute()).length
  }

  test.runIf(isLong)("create one role, one permission, one client, one membership and one grant", async () => {
    const { clients, world, server } = all
    const { admin } = clients
    const appId = world.app.id
    const { principalId } = await signIn(server, clients, "wanted", { app: world.app })
    const there = { appId, tenantId: world.tenant.id, principalId }
    const android = {
      provider: Provider.IDP_A,
      platform: Platform.ANDROID,
      clientId: "c",
      issuers: ["https://a.example"],
      jwksUri: "https://a.example/k",
    }
    expect(await times(() => admin.createRole({ appId, role: { key: "wanted" } }, root()))).toEqual(once)
    expect(await times(() => admin.createPermission({ appId, permission: { key: "a.b.wanted" } }, root()))).toEqual(
      once,
    )
    expect(await times(() => admin.createProviderClient({ appId, providerClient: android }, root()))).toEqual(once)
    expect(await times(() => admin.createMembership(there, root()))).toEqual(once)
    const { roles } = await admin.listRoles({ appId }, root())
    const roleId = roles.find(({ key }) => key === "wanted")?.id ?? ""
    expect(await times(() => admin.createGrant({ ...there, roleId }, root()))).toEqual(once)
    const inContext = { ...there, contextId: world.context.id }
    expect(await times(() => admin.inviteMember(inContext, root()))).toEqual(once)
  })

  test("suspend a tenant once, and each of them gets success", async () => {
    const { clients, world } = all
    const { tenant } = await clients.admin.createTenant({ appId: world.app.id, tenant: { name: "T" } }, root())
    const of = { appId: world.app.id, tenantId: tenant?.id ?? "" }
    const before = await kinds("tenant.suspended")
    expect(await times(() => clients.admin.suspendTenant(of, root()))).toEqual(Array(atOnce).fill("ok"))
    expect((await kinds("tenant.suspended")) - before).toBe(1)
  })

  test("change different fields, and each change is stored", async () => {
    const { clients, world } = all
    const appId = world.other.id
    await outcomes([
      () => clients.admin.updateApp({ appId, app: { name: "Both" } }, root()),
      () => clients.admin.updateApp({ appId, app: { settings: { sessionAbsoluteSeconds: 4_000 } } }, root()),
      () => clients.admin.updateApp({ appId, app: { settings: { retryWindowSeconds: 7 } } }, root()),
    ])
    const { app } = await clients.admin.getApp({ appId }, root())
    expect([app?.name, app?.settings?.sessionAbsoluteSeconds, app?.settings?.retryWindowSeconds]).toEqual([
      "Both",
      4_000,
      7,
    ])
  })

  test("archive a role while it is granted: no grant of it remains", async () => {
    const { clients, world, server } = all
    const appId = world.app.id
    for (let round = 0; round < 3; round++) {
      const { role } = await clients.admin.createRole({ appId, role: { key: `brief${round}` } }, root())
      const roleId = role?.id ?? ""
      const { principalId } = world.people.admin
      await outcomes([
        () => clients.admin.createGrant({ appId, principalId, roleId }, root()),
        () => clients.admin.archiveRole({ appId, roleId }, root()),
      ])
      const query = server.store.db
        .selectFrom("role_grant")
        .select("status")
        .where("role_id", "=", roleId as never)
      expect((await query.execute()).filter(({ status }) => status === "ACTIVE")).toEqual([])
    }
  })

  test.runIf(isLong)("remove a member during a grant: a member who joins again has no grant", async () => {
    const { clients, world, server } = all
    const { admin } = clients
    const appId = world.app.id
    // An app's administrator, because the installation's may invite a removed member again. A new one, because removed
    // roles make old tokens stale.
    const own = { app: world.app, scopes: administrationScopes }
    const by = bearer((await signIn(server, clients, "parting administrator", own)).token)
    const { role } = await admin.createRole({ appId, role: { key: "parting" } }, root())
    const roleId = role?.id ?? ""
    for (let round = 0; round < 6; round++) {
      const { principalId } = await signIn(server, clients, `leaver ${round}`, { app: world.app })
      const { memberships } = await admin.listMemberships({ appId, principalId }, root())
      const membershipId = memberships[0]?.id ?? ""
      const at = { appId, principalId, tenantId: world.tenant.id }
      const [removed] = await Promise.all([
        admin.removeMembership({ appId, membershipId }, by),
        outcomes([
          () => admin.createGrant({ appId, principalId, roleId }, by),
          () => admin.createMembership(at, by),
          () => admin.inviteMember({ ...at, tenantId: world.otherTenant.id }, by),
        ]),
      ])
      expect(removed.membership?.status).toBe(Membership_Status.REMOVED)
      const live = ["ACTIVE", "PENDING", "INVITED"] as never[]
      const left = await Promise.all(
        (["role_grant", "membership", "invitation"] as const).map((table) =>
          server.store.db
            .selectFrom(table)
            .select("id")
            .where("principal_id", "=", principalId)
            .where("status", "in", live)
            .execute(),
        ),
      )
      expect(left).toEqual([[], [], []])
    }
  })

  test("revoke a member's grant: a transaction that waits for the principal holds none of its other locks", async () => {
    const { clients, world, server } = all
    const { admin } = clients
    const { db } = server.store
    const appId = world.app.id
    const { principalId } = await signIn(server, clients, "held", { app: world.app })
    const { memberships } = await admin.listMemberships({ appId, principalId }, root())
    const { role } = await admin.createRole({ appId, role: { key: "held" } }, root())
    const { grant } = await admin.createGrant({ appId, principalId, roleId: role?.id ?? "" }, root())
    const grantId = grant?.id ?? ""
    const membershipId = memberships[0]?.id ?? ""
    const both = await db.transaction().execute(async (trx) => {
      await sql`select from principal where id = ${principalId} for update`.execute(trx)
      const calls = outcomes([
        () => admin.revokeGrant({ appId, grantId }, root()),
        () => admin.removeMembership({ appId, membershipId }, root()),
      ])
      await untilWaiting(db, 2)
      await sql`select from role_grant where id = ${grantId} for update nowait`.execute(trx)
      await sql`select from membership where id = ${membershipId} for update nowait`.execute(trx)
      return { calls }
    })
    expect(await both.calls).toEqual(["ok", "ok"])
  })

  test("revoke an invitation while its membership is removed: a waiting transaction holds no lock of the other", async () => {
    const { clients, world, server } = all
    const { admin } = clients
    const { db } = server.store
    const appId = world.app.id
    const { principalId } = await signIn(server, clients, "invited", { app: world.app })
    const { invitation } = await admin.inviteMember({ appId, principalId, tenantId: world.tenant.id }, root())
    const invitationId = invitation?.id ?? ""
    const { memberships } = await admin.listMemberships({ appId, principalId }, root())
    const membershipId = memberships.find(({ status }) => status === Membership_Status.INVITED)?.id ?? ""
    const both = await db.transaction().execute(async (trx) => {
      await sql`select from invitation where id = ${invitationId} for update`.execute(trx)
      const calls = outcomes([
        () => admin.revokeInvitation({ appId, invitationId }, root()),
        () => admin.removeMembership({ appId, membershipId }, root()),
      ])
      await untilWaiting(db, 2)
      await sql`select from membership where id = ${membershipId} for update nowait`.execute(trx)
      return { calls }
    })
    expect(await both.calls).toEqual(["ok", "ok"])
  })

  test("invite a member whose expired invitation is being replaced by an active membership: it stays active", async () => {
    const { clients, world, server } = all
    const { db } = server.store
    const { principalId } = await signIn(server, clients, "invited again", { app: world.app })
    const asked = { appId: world.app.id, principalId, tenantId: world.tenant.id }
    const { id = "", membershipId = "" } = (await clients.admin.inviteMember(asked, root())).invitation ?? {}
    await sql`update invitation set expires_at = created_at where id = ${id}`.execute(db)
    const both = await db.transaction().execute(async (trx) => {
      await sql`select from membership where id = ${membershipId} for update`.execute(trx)
      const calls = outcomes([() => clients.admin.inviteMember(asked, root())])
      await untilWaiting(db)
      await sql`update membership set status = 'ACTIVE' where id = ${membershipId}`.execute(trx)
      return { calls }
    })
    expect(await both.calls).toEqual(["AlreadyExists ALREADY_EXISTS"])
    const { membership } = await clients.admin.getMembership({ appId: asked.appId, membershipId }, root())
    expect(membership?.status).toBe(Membership_Status.ACTIVE)
  })

  test("delete a permission while a role adds it: no role contains a deleted permission", async () => {
    const { clients, world, server } = all
    const appId = world.app.id
    for (let round = 0; round < 3; round++) {
      const key = `a.b.brief${round}`
      await clients.admin.createPermission({ appId, permission: { key } }, root())
      const results = await outcomes([
        () => clients.admin.createRole({ appId, role: { key: `names${round}`, permissions: [key] } }, root()),
        () => clients.admin.deletePermission({ appId, permissionKey: key }, root()),
      ])
      expect(results.filter((each) => each === "ok")).toHaveLength(1)
      const kept = await server.store.db.selectFrom("permission").select("id").where("key", "=", key).execute()
      const { roles } = await clients.admin.listRoles({ appId }, root())
      expect(roles.some(({ permissions }) => permissions.includes(key))).toBe(kept.length === 1)
    }
  })
})
