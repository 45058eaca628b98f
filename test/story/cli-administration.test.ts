// The daily commands of administrators, run with signet against the program of npm start.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type FakeOptions, fakeCli } from "../../clients/cli/testing/fake-cli.ts"
import { install } from "../../clients/cli/testing/installed.ts"
import { createFileLock, createFileStorage, createPassphraseBox } from "../../clients/node/index.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { createTestDatabase, describeOnPostgres, programDatabase } from "../support/postgres.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const home = mkdtempSync(join(fastTmpdir(), "signet-cli-admin-"))
let program: RunningProgram
let database: Awaited<ReturnType<typeof programDatabase>>
let administrator: NonNullable<FakeOptions["env"]>

beforeAll(async () => {
  database = await programDatabase()
  program = await startProgram({
    ...database.settings,
    PORT: String(await freePort()),
    SIGNET_DATA: join(home, "data"),
    // Each command exchanges the personal access token, which exceeds the limit per minute.
    SIGNET_LIMITS: "off",
  })
  const { pat } = await (await fetch(`${program.url}/dev/admin`, { method: "POST" })).json()
  administrator = { SIGNET_HOME: join(home, "admin"), SIGNET_SERVER: program.url, SIGNET_PAT: pat }
  const storage = createFileStorage(join(home, "ada/passphrase-box"))
  const lock = createFileLock(join(home, "ada/box-lock"))
  const parameters = { memoryKiB: 19_456, passes: 2 }
  await createPassphraseBox({ storage, lock, parameters, passphrase: async () => "correct horse" }).createKey({
    app: "q",
  })
  expect(await ada().run("login", "--server", program.url, "--as", "ada@example.com")).toMatchObject({ code: 0 })
})
afterAll(async () => {
  await program?.end("SIGTERM")
  await database?.drop()
  rmSync(home, { recursive: true, force: true })
})

/** A user who signed in to the app of the development profile, without any administrative role. */
const ada = () =>
  fakeCli({
    env: { SIGNET_HOME: join(home, "ada"), SIGNET_STORE: "passphrase", SIGNET_PASSPHRASE: "correct horse" },
  })
const root = (options: FakeOptions = {}) => fakeCli({ ...options, env: { ...administrator, ...options.env } })
const json = async (...args: string[]) => {
  const { code, out, err } = await root().run(...args, "--json")
  expect([args, code, err]).toEqual([args, 0, ""])
  return JSON.parse(out)
}

describe("signet user", () => {
  test("finds people by full address and subject, and not by a part", async () => {
    const [found, ...others] = await json("user", "find", "ada@example.com")
    expect(others).toEqual([])
    expect(found).toMatchObject({ identity: { primaryEmail: "ada@example.com" }, principal: { status: "ACTIVE" } })
    const [{ provider, subject }] = found.providerAccounts
    const named = ["--provider", provider.toLowerCase().replace("_", "-"), "--subject", subject]
    expect(await json("user", "find", ...named)).toEqual([found])
    expect(await json("user", "find", "da@example.com")).toEqual([])
    const { out } = await root().run("user", "find", "ada@example.com")
    expect(out).toMatch(/^prn_\w{26}\tactive\tada@example\.com\tapp_/)
  })

  test.runIf(isLong)("suspends and resumes a person, and requires --yes", async () => {
    const [{ principal }] = await json("user", "find", "ada@example.com")
    expect(await root().run("user", "suspend", principal.id)).toMatchObject({
      code: 2,
      err: expect.stringContaining("confirmation required, use --yes"),
    })
    expect(await json("user", "suspend", principal.id, "--yes")).toMatchObject({ status: "SUSPENDED" })
    expect(await json("user", "get", principal.id)).toMatchObject({ principal: { status: "SUSPENDED" } })
    expect(await json("user", "resume", principal.id)).toMatchObject({ status: "ACTIVE" })
    const lock = ["lock", principal.id, "--minutes", "60", "--reason", "lost phone"]
    expect(await root().run("user", ...lock)).toMatchObject({
      code: 2,
      err: expect.stringContaining("confirmation required, use --yes"),
    })
    expect(await json("user", ...lock, "--yes")).toMatchObject({ status: "LOCKED", lockReason: "lost phone" })
    expect(await json("user", "unlock", principal.id)).toMatchObject({ status: "ACTIVE" })
    expect(await ada().run("login", "--as", "ada@example.com")).toMatchObject({ code: 0 })
  })

  test.runIf(isLong)("asks before it revokes devices of a person, and says which scope the token lacks", async () => {
    const [{ principal, memberships }] = await json("user", "find", "ada@example.com")
    const of = ["--principal", principal.id, "--app", memberships[0].appId]
    const unconfirmed = await root().run("device", "revoke", ...of)
    expect(unconfirmed).toMatchObject({ code: 2, err: expect.stringContaining("confirmation required, use --yes") })
    for (const call of [["list"], ["revoke", "--yes"]]) {
      const { code, err } = await root().run("device", ...call, ...of)
      expect([call, code !== 0, err]).toEqual([call, true, expect.stringContaining("messaging.devices")])
    }
  })

  test.runIf(isLong)("lists the sessions of a person, revokes one, and all with --yes", async () => {
    const [{ principal, memberships }] = await json("user", "find", "ada@example.com")
    const of = ["--principal", principal.id, "--app", memberships[0].appId]
    const [session] = await json("session", "list", ...of)
    expect(session).toMatchObject({ status: "ACTIVE", appId: memberships[0].appId })
    expect(await json("session", "revoke", session.id, ...of)).toEqual({ id: session.id, status: "REVOKED" })
    expect(await root().run("session", "revoke", ...of)).toMatchObject({
      code: 2,
      err: expect.stringContaining("confirmation required, use --yes"),
    })
    expect(await ada().run("login", "--as", "ada@example.com")).toMatchObject({ code: 0 })
    expect(await json("session", "revoke", ...of, "--yes")).toEqual({ revokedSessions: 1 })
    expect(await json("session", "list", ...of)).toEqual([])
    expect(await ada().run("login", "--as", "ada@example.com")).toMatchObject({ code: 0 })
  })

  test.each<[number, string, readonly string[]]>([
    [2, "USAGE", ["find"]],
    [2, "USAGE", ["find", "a@b.example", "--provider", "idp-a", "--subject", "x"]],
    [2, "USAGE", ["find", "--provider", "idp-a"]],
    [2, "INVALID_FIELD", ["find", "not an address"]],
    [4, "RESOURCE_UNRESOLVED", ["get", "prn_06enrrq000edm6xx1hjq8s9c9g"]],
  ])("%i is %s: %j", async (code, reason, args) => {
    const said = await root().run("user", ...args, "--json")
    expect([said.code, JSON.parse(said.err).reason]).toEqual([code, reason])
  })

  test("is refused for a missing scope before anything is sent", async () => {
    const { code, err } = await ada().run("user", "find", "ada@example.com")
    expect([code, err]).toEqual([4, expect.stringContaining("requires the scope auth.identities.read")])
  })
})

describe("an app", () => {
  let appId: string
  let tenantId: string
  let adaId: string
  const inApp = () => ["--app", appId]

  beforeAll(async () => {
    const scopes = ["--scope", "garden.look=svc-garden+", "--scope", "garden.weed=svc-garden"]
    appId = (await json("app", "create", "Garden", "--audience", "svc-garden", ...scopes)).id
    adaId = (await json("user", "find", "ada@example.com"))[0].principal.id
  })

  test.runIf(isLong)("is changed in the given fields only", async () => {
    const origins = ["--add-origin", "https://garden.example,https://old.example"]
    const changed = await json("app", "update", appId, "--name", "Gardens", ...origins, "--session-days", "7")
    expect(changed).toMatchObject({
      name: "Gardens",
      settings: { signupEnabled: true, sessionAbsoluteSeconds: 604_800 },
    })
    const again = await json("app", "update", appId, "--remove-origin", "https://old.example", "--no-signup")
    expect(again.settings.allowedOrigins).toEqual(["https://garden.example"])
    expect(again.settings.signupEnabled).toBeUndefined()
    expect(again.scopes.map(({ key }: { key: string }) => key)).toEqual(["garden.look", "garden.weed"])
    const scoped = await json(
      "app",
      "update",
      appId,
      "--add-scope",
      "garden.plant=svc-garden",
      "--remove-scope",
      "garden.look",
    )
    expect(scoped.scopes.map(({ key }: { key: string }) => key)).toEqual(["garden.weed", "garden.plant"])
    expect(await root().run("app", "update", appId)).toMatchObject({ code: 2 })
  })

  test("has tenants, which are created, listed, renamed, suspended and archived", async () => {
    const tenant = await json("tenant", "create", "Kew", ...inApp())
    tenantId = tenant.id
    expect(tenant).toMatchObject({ appId, name: "Kew", status: "ACTIVE" })
    expect(await json("tenant", "update", tenantId, "--name", "Kew Gardens", ...inApp())).toMatchObject({
      name: "Kew Gardens",
    })
    expect(await json("tenant", "get", tenantId, ...inApp())).toMatchObject({ name: "Kew Gardens" })
    const second = await json("tenant", "create", "Wisley", ...inApp())
    const { out } = await root().run("tenant", "list", ...inApp())
    expect(out.split("\n").map((line) => line.split("\t").slice(0, 3))).toEqual([
      [second.id, "Wisley", "active"],
      [tenantId, "Kew Gardens", "active"],
      [""],
    ])
    expect(await json("tenant", "list", ...inApp(), "-L", "1")).toHaveLength(1)
    expect(await json("tenant", "suspend", second.id, ...inApp(), "--yes")).toMatchObject({ status: "SUSPENDED" })
    expect(await json("tenant", "resume", second.id, ...inApp())).toMatchObject({ status: "ACTIVE" })
    expect(await json("tenant", "archive", second.id, ...inApp(), "-y")).toMatchObject({ status: "ARCHIVED" })
    expect(await root().run("tenant", "resume", second.id, ...inApp())).toMatchObject({
      code: 6,
      err: expect.stringContaining("STATE_CONFLICT"),
    })
  })

  test("has members, named by address or id", async () => {
    const member = await json("member", "add", "ada@example.com", ...inApp(), "--scope", "garden.weed")
    expect(member).toMatchObject({ principalId: adaId, scopes: ["garden.weed"], status: "ACTIVE" })
    const inTenant = await json("member", "add", adaId, ...inApp(), "--tenant", tenantId)
    expect(inTenant).toMatchObject({ principalId: adaId, tenantId })
    expect(await json("member", "list", ...inApp(), "--tenant", tenantId)).toEqual([inTenant])
    expect(await json("member", "list", ...inApp(), "--status", "suspended")).toEqual([])
    const named = await json("member", "update", member.id, ...inApp(), "--no-scope", "--name", "Ada")
    expect([named.scopes, named.profile.name]).toEqual([undefined, "Ada"])
    expect(await json("member", "suspend", member.id, ...inApp(), "--yes")).toMatchObject({ status: "SUSPENDED" })
    expect(await json("member", "resume", member.id, ...inApp())).toMatchObject({ status: "ACTIVE" })
    expect(await root().run("member", "add", "nobody@example.com", ...inApp())).toMatchObject({
      code: 5,
      err: expect.stringContaining("signet invite create"),
    })
    expect(await root().run("member", "remove", member.id, ...inApp())).toMatchObject({ code: 2 })
    expect(await json("member", "get", member.id, ...inApp())).toMatchObject({ status: "ACTIVE" })
  })

  test.runIf(isLong)("has invitations, whose code is shown once", async () => {
    const { code, invitation } = await json("invite", "create", ...inApp(), "--tenant", tenantId, "--hours", "3")
    expect(code).toMatch(/^sginv_/)
    const listed = await json("invite", "list", ...inApp())
    expect(listed).toEqual([invitation])
    expect(JSON.stringify(listed)).not.toContain(code)
    expect(await json("invite", "revoke", invitation.id, ...inApp())).toMatchObject({ status: "REVOKED" })
  })

  test("has roles of permissions, which are granted and revoked", async () => {
    await json("permission", "create", "garden.roses.prune", ...inApp(), "--description", "Cuts roses.")
    await json("permission", "create", "garden.roses.plant", ...inApp())
    expect(await json("permission", "list", ...inApp())).toHaveLength(2)
    const contents = ["--permission", "garden.roses.prune", "--inheritable", "--at", "tenant,context"]
    const role = await json("role", "create", "gardener", ...inApp(), ...contents)
    expect(role).toMatchObject({ key: "gardener", inheritable: true, assignableAt: ["TENANT", "CONTEXT"] })
    const both = "garden.roses.prune,garden.roses.plant"
    expect(await json("role", "update", role.id, ...inApp(), "--permission", both)).toMatchObject({ inheritable: true })
    expect(await json("role", "list", ...inApp())).toHaveLength(1)
    const at = [...inApp(), "--tenant", tenantId]
    const grant = await json(
      "grant",
      "create",
      "ada@example.com",
      "--role",
      role.id,
      ...at,
      "--reason",
      "spring",
      "--days",
      "30",
    )
    expect(grant).toMatchObject({ principalId: adaId, roleId: role.id, tenantId, reason: "spring", status: "ACTIVE" })
    expect(await json("grant", "list", ...inApp(), "--role", role.id)).toEqual([grant])
    expect(await json("grant", "revoke", grant.id, ...inApp())).toMatchObject({ status: "REVOKED" })
    const remove = (key: string) => root().run("permission", "delete", key, ...inApp(), "--yes", "--json")
    const inUse = await remove("garden.roses.plant")
    expect([inUse.code, JSON.parse(inUse.err).reason]).toEqual([6, "IN_USE"])
    await json("role", "update", role.id, ...inApp(), "--permission", "garden.roses.prune")
    expect(await remove("garden.roses.plant")).toMatchObject({ code: 0 })
    expect(await json("role", "archive", role.id, ...inApp(), "--yes")).toMatchObject({ status: "ARCHIVED" })
    expect(await root().run("role", "create", "x", ...inApp(), "--at", "moon")).toMatchObject({ code: 2 })
    expect(
      await root().run("grant", "create", adaId, "--role", role.id, ...inApp(), "--resource", "roses"),
    ).toMatchObject({
      code: 2,
      err: expect.stringContaining("TYPE/ID"),
    })
  })

  test("is the default place of commands, from the environment or the profile", async () => {
    expect(
      JSON.parse((await root({ env: { SIGNET_APP: appId } }).run("tenant", "get", tenantId, "--json")).out),
    ).toMatchObject({ id: tenantId })
    const set = await ada().run("profile", "set", "--app", appId, "--tenant", tenantId, "--json")
    expect(JSON.parse(set.out)).toEqual({ name: "default", appId, tenantId })
    // A new app clears the profile's tenant. Ada's profile is used because its sign-in administers nothing.
    expect(JSON.parse((await ada().run("profile", "set", "--app", appId, "--json")).out).tenantId).toBeNull()
    expect((await ada().run("profile", "set", "--app", "", "--json")).code).toBe(0)
  })

  test.runIf(isLong)("gets personal access tokens only from a sign-in to the app itself", async () => {
    const args = ["--name", "ci", "--audience", "svc-notes", "--scope", "notes.read", "--json"]
    expect(await ada().run("pat", "create", "--app", appId, ...args)).toMatchObject({
      code: 3,
      err: expect.stringContaining("you are not signed in to"),
    })
    const own = JSON.parse((await ada().run("whoami", "--json")).out).session.appId
    const { code, out } = await ada().run("pat", "create", "--app", own, ...args)
    expect([code, JSON.parse(out).pat.appId ?? own]).toEqual([0, own])
  })

  test.runIf(isLong)("is suspended and resumed by the installation's administrator", async () => {
    expect(await json("app", "suspend", appId, "--yes")).toMatchObject({ status: "SUSPENDED" })
    expect(await json("app", "resume", appId)).toMatchObject({ status: "ACTIVE" })
  })
})

describe("signet api", () => {
  test("lists methods with their requirements, and shows the fields of one", async () => {
    const listed = await json("api", "--list", "FindUsers")
    expect(listed).toEqual([
      { method: "signet.auth.v1.AppAuthService/FindUsers", kind: "unary", requires: "scope(auth.identities.read)" },
    ])
    expect((await json("api", "--list")).length).toBeGreaterThan(100)
    expect(await json("api", "AppAuthService.CreateTenant", "--describe")).toMatchObject({
      requires: "scope(auth.tenants.write)",
      fields: [{ name: "appId" }, { name: "tenant" }],
    })
  })

  test("calls a method by either name, with fields and with JSON from standard input", async () => {
    const { apps } = JSON.parse(
      (await root().run("api", "signet.auth.v1.AppAuthService/ListApps", "-f", "page_size=1")).out,
    )
    expect(apps).toHaveLength(1)
    const said = root({ input: JSON.stringify({ appId: apps[0].id, tenant: { name: "file" } }) })
    const { code, out } = await said.run(
      "api",
      "AppAuthService.CreateTenant",
      "--input",
      "-",
      "-f",
      "tenant.name=field",
    )
    expect([code, JSON.parse(out).tenant.name]).toEqual([0, "field"])
    const list = ["api", "AuditService.ListAuditEvents", "-f", "kinds=tenant.created", "-f", "kinds=app.created"]
    const kinds = JSON.parse((await root().run(...list)).out).auditEvents.map(({ kind }: { kind: string }) => kind)
    expect(new Set(kinds)).toEqual(new Set(["tenant.created", "app.created"]))

    // The same events by the command that counts them.
    const counting = ["audit", "count", "--kind", "tenant.created", "--kind", "app.created", "--until", "2100-01-01"]
    const { counts } = JSON.parse((await root().run(...counting, "--since", "2000-01-01", "--json")).out)
    expect(counts).toEqual(
      ["app.created", "tenant.created"].map((kind) =>
        expect.objectContaining({ kind, count: kinds.filter((one: string) => one === kind).length }),
      ),
    )
    const table = await root().run(
      "audit",
      "count",
      "--since",
      "1h",
      "--every",
      "30m",
      "--by",
      "kind",
      "--by",
      "outcome",
    )
    expect([table.code, table.out]).toEqual([0, expect.stringMatching(/tenant\.created\s+success\s+\d+/)])
  })

  test.runIf(isLong)("audit list names the scope that the caller of a denied call lacked", async () => {
    const { accessToken } = JSON.parse((await ada().run("token", "get", "--audience", "auth", "--json")).out)
    const headers = { authorization: `Bearer ${accessToken}` }
    expect((await fetch(`${program.url}/auth/apps`, { headers })).status).toBe(403)
    const listed = async () => (await root().run("audit", "list", "--kind", "authz.denied")).out
    await expect.poll(listed, { timeout: 10_000 }).toMatch(/authz\.denied.+MISSING_SCOPE auth\.apps\.read/)
  })

  test.each<[number, string, readonly string[]]>([
    [2, "unknown method", ["Nothing.AtAll"]],
    [2, "has no field nam. It has: appId, tenant", ["AppAuthService.CreateTenant", "-f", "nam=x"]],
    [2, "use FIELD=VALUE", ["AppAuthService.CreateTenant", "-f", "x"]],
    [2, "is a message", ["AppAuthService.CreateTenant", "-f", "tenant=x"]],
    [2, "page_size", ["AppAuthService.ListApps", "-f", "page_size=many"]],
    [2, "page_size: must be less than or equal to 200", ["AppAuthService.ListApps", "-f", "pageSize=201"]],
    [2, "is a secret, and other users can see command lines", ["PatService.ExchangePat", "-f", "pat=sgpat_x"]],
    [2, "must be true or false", ["AuthService.LogoutAll", "-f", "except_current=yes"]],
  ])("%i says %j: %j", async (code, sentence, args) => {
    const said = await root().run("api", ...args)
    expect([said.code, said.out]).toEqual([code, ""])
    expect(said.err.replaceAll("\n", ". ")).toContain(sentence)
    expect(said.err).not.toContain("sgpat_x")
  })

  test("names each refused field, in JSON too", async () => {
    const { err } = await root().run("api", "AppAuthService.CreateTenant", "-f", "app_id=x", "--json")
    expect(JSON.parse(err)).toMatchObject({
      reason: "INVALID_FIELD",
      errors: [
        { field: "app_id", detail: expect.stringContaining("pattern") },
        { field: "tenant", detail: "value is required" },
      ],
    })
  })

  test("checks the requirement before anything is sent", async () => {
    const { code, err } = await ada().run("api", "AppAuthService.ListApps")
    expect([code, err]).toEqual([4, expect.stringContaining("requires the scope auth.apps.read")])
  })
})

test("signet keys list --published shows the published keys without a sign-in", async () => {
  const nobody = fakeCli({ env: { SIGNET_HOME: join(home, "nobody"), SIGNET_SERVER: program.url } })
  const { code, out } = await nobody.run("keys", "list", "--published", "--json")
  expect([code, JSON.parse(out)[0]]).toEqual([0, { kid: expect.any(String), alg: "ES256", use: "sig" }])
})

describeOnPostgres("before DNS and TLS exist", () => {
  test.runIf(isLong)(
    "an operator creates the first administrator and administers the production profile at its loopback address",
    async () => {
      const database = await createTestDatabase()
      const key = Buffer.alloc(32, 7).toString("base64")
      const settings = {
        SIGNET_PROFILE: "production",
        DATABASE_URL: database.url,
        SIGNET_ISSUER: "https://auth.example",
        SIGNET_SEALING_KEY: key,
        SIGNET_PEPPERS: `1:${key}`,
        SIGNET_DATA: join(home, "production"),
        PORT: String(await freePort()),
      }
      const server = await startProgram(settings)
      const made = await install(join(home, "operator"), settings).run(["admin", "create", "--json"])
      const { pat } = JSON.parse(made.stdout)
      const at = (more: object) => fakeCli({ env: { SIGNET_SERVER: server.url, SIGNET_PAT: pat, ...more } })
      expect(await at({ SIGNET_SERVER_ISSUER: "https://auth.example" }).run("app", "list")).toMatchObject({
        code: 0,
        out: expect.stringContaining("Installation"),
      })
      // With another issuer, or without one, its tokens are not accepted.
      for (const more of [{ SIGNET_SERVER_ISSUER: "https://other.example" }, {}]) {
        const { code, err } = await at(more).run("app", "list")
        expect([code, err]).toEqual([3, expect.stringContaining("ISSUER_MISMATCH")])
      }
      const login = fakeCli({ env: { SIGNET_HOME: join(home, "first"), SIGNET_STORE: "passphrase" }, input: pat })
      expect(await login.run("login", "--pat", "--server", server.url)).toMatchObject({
        code: 2,
        err: expect.stringContaining("--server-issuer https://auth.example"),
      })
      await server.end("SIGTERM")
      await database.drop()
    },
    60_000,
  )
})

test.runIf(isLong)("operator commands are in the help, and run as with signet-server admin", async () => {
  const operator = install(join(home, "help"), {})
  const { code, stdout } = await operator.run(["admin", "keys", "help"])
  expect([code, stdout]).toEqual([0, expect.stringContaining("keys root sign --root FILE")])
  expect(stdout).not.toContain("revocations restart")
  expect(await operator.run(["admin", "revocations", "again"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("revocations restart"),
  })
  const { out } = await fakeCli().run("admin", "--help")
  for (const name of ["create", "migrate", "keys", "audit", "revocations", "backend", "messaging"]) {
    expect(out).toContain(`  ${name} `)
  }
})
