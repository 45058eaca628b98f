// The plans of an administrator's lists beside a large tenant: each reads about as much as it answers.
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import type { Ids } from "../support/administered.ts"
import { type AdministeredServer, startAdministeredServer } from "../support/administered-server.ts"
import type { AdministratorName } from "../support/administration.ts"
import { effort, isLong } from "../support/effort.ts"
import { addManyMembers, emailOfMember, principalOfMember } from "../support/many-members.ts"
import { blocksOf, wholeScans } from "../support/plans.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { recorded, type Statement } from "../support/statements.ts"

vi.setConfig({ testTimeout: effort(60_000, 300_000, 3_600_000), hookTimeout: effort(60_000, 300_000, 3_600_000) })

/** Members of the large tenant, one number after the other. */
const sizes = effort([2_000], [30_000], [30_000, 1_000_000])
/** A page of fifty records takes at most one block for each, and its index. */
const mostBlocks = 150
/** Fifty ids take a descent of the index each, and the records of a member are in two places. */
const mostBlocksOfIds = 400
const lists = /^\s*(select|with).*\b(from|join) "?(membership|role_grant|invitation|context|identity)\b/is

describeOnPostgres("an administrator's lists", () => {
  let administered: AdministeredServer
  /** The large tenant is the other one: an administrator manages it, too. */
  let large: Ids
  beforeAll(async () => {
    administered = await startAdministeredServer({ store: "postgres" })
    large = administered.inOtherTenant
  })
  afterAll(() => administered?.server.close())

  /** The lists by the names of what the console shows. */
  const asked: Record<string, (to: number) => Promise<unknown>> = {
    "a small tenant": () => everyList("tenantAdmin"),
    "a context": () => everyList("contextAdmin"),
    "the large tenant": () => everyList("otherTenantAdmin"),
    "the app": () => everyList("admin"),
    "a tenant of the app": () => everyList("admin", { tenantId: administered.world.tenant.id }),
    "a later page": async () => {
      const { clients, world, server } = administered
      const of = { appId: server.app.id, pageSize: 50 }
      const by = world.as("otherTenantAdmin")
      const { nextPageToken } = await clients.admin.listMemberships(of, by)
      await clients.admin.listMemberships({ ...of, pageToken: nextPageToken }, by)
    },
    "one member": async (to) => {
      const { clients, world, server } = administered
      const of = { appId: server.app.id, principalId: principalOfMember(to) }
      for (const by of [world.as("otherTenantAdmin"), world.as("admin")]) {
        await clients.admin.listMemberships(of, by)
        await clients.admin.listGrants(of, by)
      }
    },
    "fifty members by ids": async (to) => {
      const { clients, world, server } = administered
      const principalIds = Array.from({ length: 50 }, (_, i) => principalOfMember(to - i * Math.floor(to / 50)))
      const of = { appId: server.app.id, principalIds, pageSize: 200 }
      for (const by of [world.as("otherTenantAdmin"), world.as("admin")]) {
        const { memberships } = await clients.admin.listMemberships(of, by)
        expect(new Set(memberships.map(({ principalId }) => principalId)).size).toBe(50)
      }
    },
    "a search by address": (to) => {
      const { clients, world } = administered
      const by = { case: "email", value: emailOfMember(to) } as const
      return clients.admin.findUsers({ by }, world.as("otherTenantAdmin"))
    },
    "a role of few": () => {
      const { clients, world, server } = administered
      return clients.admin.listGrants({ appId: server.app.id, roleId: large.role_id }, world.as("otherTenantAdmin"))
    },
  }

  async function everyList(by: AdministratorName, at: { tenantId?: string } = {}): Promise<void> {
    const { clients, world, server } = administered
    const of = { appId: server.app.id, ...at, pageSize: 50 }
    await clients.admin.listMemberships(of, world.as(by))
    await clients.admin.listGrants(of, world.as(by))
    await clients.admin.listInvitations(of, world.as(by))
    await clients.admin.listContexts(of, world.as(by))
  }

  test.runIf(isLong).each(sizes.map((to, i) => ({ from: sizes[i - 1] ?? 0, to })))(
    "read about what they answer beside $to members",
    async ({ from, to }) => {
      const { server } = administered
      const { db } = server.store
      const roles = { commonRoleId: administered.own.role_id, rareRoleIds: [large.role_id], perRareRole: 20 }
      const of = { appId: server.app.id, tenantId: large.tenant_id, issuer: server.idp.issuer }
      await addManyMembers(db, { ...of, ...roles, from, to })
      for (const [name, list] of Object.entries(asked)) {
        const statements = distinct(await recorded(() => list(to)))
        expect(statements.length, name).toBeGreaterThan(0)
        for (const statement of statements) {
          expect([name, statement.text, await wholeScans(db, statement)]).toEqual([name, statement.text, []])
          const blocks = await blocksOf(db, statement)
          const most = name === "fifty members by ids" ? mostBlocksOfIds : mostBlocks
          expect([name, statement.text, blocks > most ? blocks : "few"]).toEqual([name, statement.text, "few"])
        }
      }
    },
  )
})

/** The statements that read the listed tables, one of each text. */
function distinct(all: readonly Statement[]): readonly Statement[] {
  return [...new Map(all.filter(({ text }) => lists.test(text)).map((one) => [one.text, one])).values()]
}
