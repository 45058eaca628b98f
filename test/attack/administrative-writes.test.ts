// Each administrative write records one audit event or changes nothing. A repetition is not a second write, and no
// secret appears in an answer.
import { generateKeyPairSync } from "node:crypto"
import type { DescMethod, JsonObject } from "@bufbuild/protobuf"
import type { AppId, SessionId, TenantId } from "@signet/kernel/ids"
import { sql } from "kysely"
import { pino } from "pino"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  administrationMethods,
  callRaw,
  type Ids,
  isRead,
  type RawAnswer,
  requestOf,
  snapshot,
} from "../support/administered.ts"
import { startAdministeredServer } from "../support/administered-server.ts"
import type { AdministeredWorld } from "../support/administration.ts"
import type { Clients } from "../support/clients.ts"
import type { TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
let own: Ids
let log = ""
beforeAll(async () => {
  const stream = {
    write(line: string) {
      log += line
    },
  }
  ;({ server, clients, world, own } = await startAdministeredServer({ log: pino({ level: "trace" }, stream) }))
})
afterAll(() => server?.close())

/**
 * Every write, in an order in which each one is possible. `-> name` stores the id of the created resource under that
 * name.
 */
const order = `
CreateApp -> app_id
CreateProviderClient -> provider_client_id
CreateTenant -> tenant_id
CreateContext -> context_id
CreatePermission
CreateRole -> role_id
CreateMembership -> membership_id
CreateGrant -> grant_id
RevokePrincipalSession RevokePrincipalSessions
InviteMember -> invitation_id
UpdateApp UpdateProviderClient UpdateTenant UpdateContext UpdateMembership UpdatePermission UpdateRole
RevokeGrant RevokeInvitation
ArchiveRole DeletePermission
SuspendMembership ResumeMembership RemoveMembership
ApproveMembership
RejectMembership
DisableProviderClient EnableProviderClient
SuspendContext ResumeContext ArchiveContext
SuspendTenant ResumeTenant ArchiveTenant
SuspendApp ResumeApp ArchiveApp
BlockProviderAccount UnblockProviderAccount
LiftLockout
LockPrincipal UnlockPrincipal SuspendPrincipal ResumePrincipal DeactivatePrincipal ReactivatePrincipal
`
const steps = order.match(/\w+( -> \w+)?/g)?.map((each) => each.split(" -> ")) ?? []
/** Writes whose repetition creates another resource, finds nothing, or counts nothing. */
const notIdempotent = /^(Create|Invite|Delete|Lift|RevokePrincipalSessions)/

const ask = (method: DescMethod, request: JsonObject) => callRaw(server, method, request, world.as("root"))

async function events(): Promise<{ kind: string; target_type: string | null }[]> {
  return server.store.db.selectFrom("audit_event").select(["kind", "target_type"]).orderBy("id").execute()
}

/** Runs `work` while the database refuses every audit event. */
async function withoutAudit<T>(work: () => Promise<T>): Promise<T> {
  await sql`alter table audit_event add constraint nothing check (false) not valid`.execute(server.store.db)
  try {
    return await work()
  } finally {
    await sql`alter table audit_event drop constraint nothing`.execute(server.store.db)
  }
}

test("the list has every administrative write", () => {
  // FindUsers changes nothing but writes an audit event with each call: see test/attack/find-users.test.ts.
  const writes = administrationMethods
    .filter((method) => !isRead(method) && method.name !== "FindUsers")
    .map(({ name }) => name)
  expect(steps.map(([name]) => name).toSorted()).toEqual(writes.toSorted())
})

describe("a write", () => {
  let ids: Ids
  beforeAll(() => {
    // The permission is the one that this test creates, and the new member is a user whom the installation knows.
    ids = { ...own, permission_key: "named.thing.do" }
  })

  test.each(steps)("%s", async (name = "", makes) => {
    const method = administrationMethods.find((each) => each.name === name)
    if (method === undefined) throw new Error(name)
    await prepare(name)
    const request = requestOf(server, method, ids)
    const [before, eventsBefore] = [await snapshot(server), await events()]

    const failed = await withoutAudit(() => ask(method, request))
    expect([failed.status, failed.reason]).toEqual([500, "INTERNAL"])
    expect(await snapshot(server)).toBe(before)

    const done = await ask(method, request)
    expect([done.status, done.reason]).toEqual([200, ""])
    const added = (await events()).slice(eventsBefore.length)
    expect(added).toHaveLength(1)
    expect(added[0]?.kind).toMatch(/^[a-z_]+\.[a-z]+$/)
    if (makes !== undefined) ids = { ...ids, [makes]: madeId(done) }

    if (notIdempotent.test(name)) return
    const after = await snapshot(server)
    const again = await ask(method, request)
    expect([again.status, again.text]).toEqual([200, done.text])
    expect(await snapshot(server)).toBe(after)
    expect(await events()).toHaveLength(eventsBefore.length + 1)
  })

  /** Sets up states that no administrator's call produces. */
  async function prepare(name: string): Promise<void> {
    const { store, app } = { store: server.store.db, app: ids.app_id }
    if (name === "CreateMembership") {
      // A member of a tenant must be a member of the whole app.
      const { membership } = await clients.admin.createMembership(
        { appId: app, principalId: ids.principal_id },
        world.as("root"),
      )
      expect(membership?.appId).toBe(app)
    }
    if (name === "LiftLockout") {
      const nowMs = server.deps.clock.nowMs()
      const key = new Uint8Array(Buffer.from(ids.lockout_id, "hex"))
      const refusal = { key, kind: "LOCK", name: "client", network: null, principalId: null } as const
      await server.deps.store.limitRefusals.note({ ...refusal, refusedAtMs: nowMs, untilMs: nowMs + 3_600_000 })
    }
    if (name.startsWith("RevokePrincipalSession")) {
      const place = { app_id: app as AppId, tenant_id: ids.tenant_id as TenantId, context_id: null }
      const active = { ...place, status: "ACTIVE", revoked_at: null, revoke_reason: null } as const
      await store
        .updateTable("session")
        .set(active)
        .where("id", "=", ids.session_id as SessionId)
        .execute()
    }
    if (name === "InviteMember") ids = { ...ids, principal_id: world.people.otherAdmin.principalId }
    if (name === "ApproveMembership" || name === "RejectMembership") {
      const change = { status: "REQUESTED" } as const
      await store
        .updateTable("membership")
        .set(change)
        .where("id", "=", ids.membership_id as never)
        .execute()
    }
    if (name === "BlockProviderAccount") ids = { ...ids, principal_id: own.principal_id }
  }

  const madeId = ({ text }: RawAnswer): string => {
    const [made] = Object.values<{ id: string }>(JSON.parse(text))
    return made?.id ?? ""
  }
})

describe("a secret", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" })
  const secrets = {
    idpA: "secret-of-idp-a-0123456789",
    idpB: pem,
    idpC: "sb_secret_0123456789abcdef",
    hs256: "project-hs256-secret-of-32-bytes-or-more",
  }
  const of = (provider: string, change: JsonObject): JsonObject => ({
    provider,
    platform: "IOS",
    clientId: "client",
    issuers: ["https://idp.example"],
    jwksUri: "https://idp.example/keys",
    tokenEndpoint: "https://idp.example/token",
    ...change,
  })
  const idpB = { clientSecret: secrets.idpB, providerTenant: "TEAM123456", clientKeyId: "KEY1234567" }
  const idpC = {
    issuers: [],
    jwksUri: "",
    tokenEndpoint: "",
    projectUrl: "https://project.example",
    providerTenant: "project",
  }
  const create = (providerClient: JsonObject) => {
    const method = administrationMethods.find(({ name }) => name === "CreateProviderClient")
    if (method === undefined) throw new Error("no method")
    return ask(method, { appId: world.app.id, providerClient })
  }

  test("of a provider client is stored and never returned", async () => {
    const answers: string[] = []
    const made = [
      await create(of("IDP_A", { clientSecret: secrets.idpA })),
      await create(of("IDP_B", idpB)),
      await create(of("IDP_C", { ...idpC, clientSecret: secrets.idpC, tokenSecret: secrets.hs256 })),
    ]
    for (const { status, text } of made) {
      expect([status, text]).toEqual([200, expect.stringContaining('"hasClientSecret":true')])
      answers.push(text)
      const providerClientId = JSON.parse(text).providerClient.id
      const { providerClient } = await clients.admin.getProviderClient(
        { appId: world.app.id, providerClientId },
        world.as("root"),
      )
      expect([providerClient?.clientSecret, providerClient?.tokenSecret]).toEqual(["", ""])
      answers.push(shown(await clients.admin.listProviderClients({ appId: world.app.id }, world.as("root"))))
    }
    const { code } = await clients.admin.inviteMember({ appId: world.app.id }, world.as("root"))
    answers.push(shown(await clients.admin.listInvitations({ appId: world.app.id }, world.as("root"))))

    const rows = JSON.stringify(await server.store.db.selectFrom("audit_event").selectAll().execute())
    const kept = (await snapshot(server)) + JSON.stringify(await bytesKept())
    for (const [name, secret] of Object.entries({ ...secrets, code })) {
      const parts = [
        secret.trim().split("\n")[1] ?? secret,
        Buffer.from(secret).toString("hex"),
        Buffer.from(secret).toString("base64"),
      ]
      for (const part of parts) {
        for (const [where, text] of Object.entries({ answers: answers.join(), log, rows, kept })) {
          expect([name, where, text.includes(part)]).toEqual([name, where, false])
        }
      }
    }
    expect(log).toContain("CreateProviderClient")
  })

  test("is replaced by a new value, and removed by an empty one", async () => {
    const { admin } = clients
    const { providerClients } = await admin.listProviderClients({ appId: world.app.id }, world.as("root"))
    const client = providerClients.find(({ provider, platform }) => provider === 1 && platform === 2)
    const named = { appId: world.app.id, providerClientId: client?.id ?? "" }
    const sealed = async () => {
      const query = server.store.db.selectFrom("provider_client").select("client_secret_sealed")
      return (await query.where("id", "=", named.providerClientId as never).executeTakeFirstOrThrow())
        .client_secret_sealed
    }
    const first = await sealed()
    await admin.updateProviderClient({ ...named, providerClient: { requireNonce: true } }, world.as("root"))
    expect(await sealed()).toEqual(first)
    await admin.updateProviderClient({ ...named, providerClient: { clientSecret: "another" } }, world.as("root"))
    expect(await sealed()).not.toEqual(first)
    const taken = { ...named, providerClient: {}, updateMask: { paths: ["client_secret"] } }
    const { providerClient } = await admin.updateProviderClient(taken, world.as("root"))
    expect([await sealed(), providerClient?.hasClientSecret]).toEqual([null, false])
  })

  test("that verifies a project's tokens is replaced and removed by itself", async () => {
    const { admin } = clients
    const { text } = await create(
      of("IDP_C", { ...idpC, platform: "WEB", clientSecret: secrets.idpC, tokenSecret: secrets.hs256 }),
    )
    const providerClientId = JSON.parse(text).providerClient.id
    const named = { appId: world.app.id, providerClientId }
    const sealed = async () => {
      const query = server.store.db.selectFrom("provider_client").select("token_secret_sealed")
      return (await query.where("id", "=", providerClientId as never).executeTakeFirstOrThrow()).token_secret_sealed
    }
    const update = (tokenSecret: string) =>
      admin.updateProviderClient(
        { ...named, providerClient: { tokenSecret }, updateMask: { paths: ["token_secret"] } },
        world.as("root"),
      )
    const first = await sealed()
    await admin.updateProviderClient({ ...named, providerClient: { displayName: "Project" } }, world.as("root"))
    expect(await sealed()).toEqual(first)
    await update(`another ${secrets.hs256}`)
    expect([first, await sealed()]).not.toContain(null)
    expect(await sealed()).not.toEqual(first)
    await update("")
    expect(await sealed()).toBeNull()
  })

  test.each<[string, JsonObject, string]>([
    ["that is no key", of("IDP_B", { ...idpB, clientSecret: "top-secret-no-key" }), "client_secret"],
    ["that is another kind of key", of("IDP_B", { ...idpB, clientSecret: `${rsa}` }), "client_secret"],
    ["that does not fit in a header", of("IDP_C", { ...idpC, clientSecret: "top secret\nx" }), "client_secret"],
    ["that is short", of("IDP_C", { ...idpC, clientSecret: "s", tokenSecret: "x".repeat(31) }), "token_secret"],
  ])("%s is refused, and not repeated", async (_, providerClient, field) => {
    const answer = await create(providerClient)
    expect([answer.status, answer.reason, answer.field]).toEqual([400, "INVALID_FIELD", `provider_client.${field}`])
    expect(answer.text).not.toContain("top-secret")
  })

  const shown = (message: unknown) =>
    JSON.stringify(message, (_, value) => (typeof value === "bigint" ? String(value) : value))

  async function bytesKept(): Promise<string[]> {
    const clientsKept = await server.store.db.selectFrom("provider_client").selectAll().execute()
    const codes = await server.store.db.selectFrom("invitation").select("code_hash").execute()
    const bytes = clientsKept.flatMap((each) => [each.client_secret_sealed, each.token_secret_sealed])
    return [...bytes, ...codes.map((each) => each.code_hash)].map((each) =>
      each ? Buffer.from(each).toString("latin1") : "",
    )
  }
})
