// What FindUsers discloses: to administrators of another place, and to callers who guess addresses.
// test/story/write-limits.test.ts shows that each look-up is counted.
import { Provider } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startAdministeredServer } from "../support/administered-server.ts"
import type { AdministeredWorld, AdministratorName } from "../support/administration.ts"
import { bearer, type Clients, refusal } from "../support/clients.ts"
import { type SignedInPerson, signIn } from "../support/people.ts"
import type { TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
/** A member of the app; a member of the app and its tenant; a member of the other app only. */
let ada: SignedInPerson
let tom: SignedInPerson
let eve: SignedInPerson

const addressOf = async ({ principalId }: SignedInPerson) => {
  const { identity } = await clients.admin.getPrincipal({ principalId }, world.as("root"))
  return identity?.primaryEmail ?? ""
}
const byEmail = (email: string) => ({ by: { case: "email", value: email } as const })
const bySubject = (subject: string, issuer = "") =>
  ({ by: { case: "subject", value: { provider: Provider.IDP_A, subject, issuer } } }) as const
const find = async (by: AdministratorName, of: ReturnType<typeof byEmail | typeof bySubject>, appId = "") =>
  (await clients.admin.findUsers({ appId, ...of }, world.as(by))).users
const idsOf = async (...asked: Parameters<typeof find>) => (await find(...asked)).map(({ principal }) => principal?.id)

beforeAll(async () => {
  ;({ server, clients, world } = await startAdministeredServer())
  for (const [subject, app] of Object.entries({ ada: world.app, tom: world.app, eve: world.other })) {
    const login = await server.login(subject, { email: `${subject}@people.example.com`, email_verified: true })
    await clients.auth.externalLogin({ ...login, appId: app.id })
  }
  ada = await signIn(server, clients, "ada", { app: world.app })
  tom = await signIn(server, clients, "tom", { app: world.app, tenantId: world.tenant.id })
  eve = await signIn(server, clients, "eve", { app: world.other })
})
afterAll(() => server?.close())

describe("an administrator finds", () => {
  test.each<[AdministratorName, { ada: boolean; tom: boolean; eve: boolean }]>([
    ["root", { ada: true, tom: true, eve: true }],
    ["admin", { ada: true, tom: true, eve: false }],
    ["otherAdmin", { ada: false, tom: false, eve: true }],
    ["tenantAdmin", { ada: false, tom: true, eve: false }],
    ["otherTenantAdmin", { ada: false, tom: false, eve: false }],
    ["contextAdmin", { ada: false, tom: false, eve: false }],
  ])("as %s: %j, by address and by subject", async (by, expected) => {
    for (const [subject, person] of Object.entries({ ada, tom, eve })) {
      const isExpected = expected[subject as keyof typeof expected]
      const found = isExpected ? [person.principalId] : []
      expect([subject, await idsOf(by, byEmail(await addressOf(person)))]).toEqual([subject, found])
      expect([subject, await idsOf(by, bySubject(subject))]).toEqual([subject, found])
      expect([subject, await idsOf(by, bySubject(subject, server.idp.issuer))]).toEqual([subject, found])
      expect([subject, await idsOf(by, bySubject(subject, "https://other.example"))]).toEqual([subject, []])
    }
  })

  test("a user by the address in any case, and by no part of it", async () => {
    const address = await addressOf(ada)
    expect(await idsOf("admin", byEmail(address.toUpperCase()))).toEqual([ada.principalId])
    for (const part of [address.slice(1), `${address}x`, address.replace("ada", "%"), address.replace("a", "_")]) {
      expect([part, await idsOf("admin", byEmail(part))]).toEqual([part, []])
    }
  })

  test("nobody by an address that no provider verified", async () => {
    const login = await server.login("mallory", { email: "victim@example.com", email_verified: false })
    await clients.auth.externalLogin({ ...login, appId: world.app.id })
    expect(await idsOf("root", byEmail("victim@example.com"))).toEqual([])
    expect(await idsOf("root", bySubject("mallory"))).toHaveLength(1)
  })

  test("nobody whose membership has ended", async () => {
    const gone = await signIn(server, clients, "gone", { app: world.app })
    const by = world.as("admin")
    const { memberships } = await clients.admin.listMemberships(
      { appId: world.app.id, principalId: gone.principalId },
      by,
    )
    await clients.admin.removeMembership({ appId: world.app.id, membershipId: memberships[0]?.id ?? "" }, by)
    expect(await idsOf("admin", bySubject("gone"))).toEqual([])
    expect(await idsOf("root", bySubject("gone"))).toEqual([gone.principalId])
  })
})

describe("the answer about a user", () => {
  test("has the memberships in the caller's scope; only the installation's administrator sees identity and accounts", async () => {
    const [mine] = await find("tenantAdmin", bySubject("tom"))
    expect(mine?.memberships.map(({ tenantId }) => tenantId)).toEqual([world.tenant.id])
    expect([mine?.identity, mine?.providerAccounts]).toEqual([undefined, []])
    const [ofApp] = await find("admin", bySubject("tom"))
    expect(ofApp?.memberships).toHaveLength(2)
    expect([ofApp?.identity, ofApp?.providerAccounts]).toEqual([undefined, []])
    const [all] = await find("root", bySubject("tom"))
    expect(all?.identity?.primaryEmail).toBe(await addressOf(tom))
    expect(all?.providerAccounts.map(({ subject }) => subject)).toEqual(["tom"])
  })

  test("is the same for an app's administrator, byte for byte, if the user is elsewhere and if there is none", async () => {
    const ask = async (email: string) => {
      const response = await fetch(`${server.url}/auth/users/find`, {
        method: "POST",
        headers: { ...world.as("admin").headers, "content-type": "application/json" },
        body: JSON.stringify({ email }),
      })
      return [response.status, await response.text()]
    }
    expect(await ask(await addressOf(eve))).toEqual(await ask("nobody.at.all@example.com"))
  })
})

describe("a place out of the caller's scope", () => {
  test.each<[AdministratorName, () => string]>([
    ["admin", () => world.other.id],
    ["tenantAdmin", () => world.other.id],
    ["otherAdmin", () => world.app.id],
    ["otherAdmin", () => world.installation.id],
    ["admin", () => "app_06enrrq000edm6xx1hjq8s9c9g"],
  ])("is refused to %s before anybody is looked up", async (by, appId) => {
    expect(await refusal(find(by, bySubject("ada"), appId()))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  })

  test("narrows the installation administrator's search to the named app", async () => {
    expect(await idsOf("root", bySubject("eve"), world.app.id)).toEqual([])
    expect(await idsOf("root", bySubject("eve"), world.other.id)).toEqual([eve.principalId])
    const both = await signIn(server, clients, "of both apps", { app: world.app })
    await signIn(server, clients, "of both apps", { app: world.other })
    const [inApp] = await find("root", bySubject("of both apps"), world.app.id)
    expect(inApp?.memberships.map(({ appId }) => appId)).toEqual([world.app.id])
    const [anywhere] = await find("root", bySubject("of both apps"))
    expect(anywhere?.memberships).toHaveLength(2)
    expect(anywhere?.principal?.id).toBe(both.principalId)
  })
})

test("the search requires its own scope: scopes for members and principals do not suffice", async () => {
  const scopes = ["auth.members.read", "auth.members.write", "auth.principals.read"]
  const reader = await signIn(server, clients, "reader", { app: world.app, scopes })
  expect(await refusal(clients.admin.findUsers(bySubject("ada"), bearer(reader.token)))).toBe(
    "PermissionDenied MISSING_SCOPE",
  )
})

test.each<[string, object]>([
  ["nothing", {}],
  ["no address", { email: "not an address" }],
  ["an empty subject", { subject: { provider: "IDP_A", subject: "" } }],
  ["no provider", { subject: { subject: "ada" } }],
  ["both", { email: "a@b.example", subject: { provider: "IDP_A", subject: "ada" } }],
])("a search for %s is refused as INVALID_FIELD", async (_, body) => {
  const response = await fetch(`${server.url}/auth/users/find`, {
    method: "POST",
    headers: { ...world.as("root").headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  expect([response.status, (await response.json()).reason]).toEqual([400, "INVALID_FIELD"])
})

test("each look-up is audited with the users that it found and without the search term", async () => {
  server.advance(60_000)
  const address = await addressOf(ada)
  const events = () =>
    server.store.db
      .selectFrom("audit_event")
      .selectAll()
      .where("kind", "=", "identity.looked_up")
      .orderBy("id")
      .execute()
  const before = (await events()).length
  await find("admin", byEmail(address))
  await find("admin", byEmail("nobody.at.all@example.com"))
  const added = (await events()).slice(before)
  expect(added.map(({ app_id, actor_principal_id }) => [app_id, actor_principal_id])).toEqual([
    [world.app.id, world.people.admin.principalId],
    [world.app.id, world.people.admin.principalId],
  ])
  expect(JSON.stringify(added)).toContain(ada.principalId)
  expect(JSON.stringify(added)).not.toMatch(/example\.com/)
})
