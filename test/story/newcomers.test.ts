// The commands of the README and docs/how-to/call-as-a-service.md, run as printed there with curl against the program
// of npm start. A standard OAuth client finds the endpoints by discovery.
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as oauth from "oauth4webapi"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { givePglite } from "../support/postgres.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const docs = readFileSync(join(import.meta.dirname, "../../docs/how-to/call-as-a-service.md"), "utf8")
const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8")
const firstMinutes = /## The first five minutes[\s\S]*?```sh\n([\s\S]*?)\n```/.exec(readme)?.[1] ?? ""
const tour = /With `npm start` running[^\n]*\n\n```sh\n([\s\S]*?)\n```/.exec(docs)?.[1] ?? ""
const providers = readFileSync(join(import.meta.dirname, "../../docs/how-to/try-the-stand-in-providers.md"), "utf8")
const tours = [...providers.matchAll(/With `npm start` running[^\n]*\n\n```sh\n([\s\S]*?)\n```/g)]
const [withConnections = "", withIdpB = "", withIdpC = ""] = tours.map((match) => match[1] ?? "")
const administration = readFileSync(join(import.meta.dirname, "../../docs/how-to/administer-an-app.md"), "utf8")
const asAdministrator = /With `npm start` running[^\n]*\n\n```sh\n([\s\S]*?)\n```/.exec(administration)?.[1] ?? ""
const missing = ["/bin/bash", "/usr/bin/curl"].find((path) => !existsSync(path))

describe.skipIf(missing !== undefined)(`what newcomers type${missing ? ` (skipped: no ${missing})` : ""}`, () => {
  let program: RunningProgram
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-tour-"))
    const data = join(folder, "data")
    await givePglite(data)
    program = await startProgram({ PORT: String(await freePort()), SIGNET_DATA: data })
  })
  afterAll(async () => {
    await program?.end("SIGTERM")
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  /** The answers of a script's commands, in order. */
  function run(script: string): unknown[] {
    const output = execFileSync("/bin/bash", ["-e", "-c", script], {
      cwd: folder,
      env: { ...process.env, U: program.url },
      encoding: "utf8",
    })
    return JSON.parse(`[${output.replaceAll(/\}\s*\{/g, "},{")}]`)
  }

  test("the README's first five minutes run over REST and Connect, up to a refreshed session", () => {
    const [me, again, refreshed, ...rest] = run(firstMinutes.replaceAll("http://127.0.0.1:8080", program.url))
    expect(me).toMatchObject({ identity: { primaryEmail: "ada@example.com" }, session: { current: true } })
    expect(again).toEqual(me)
    expect(refreshed).toMatchObject({ tokenType: "Bearer", refreshToken: expect.stringMatching(/^sgrt_/) })
    expect(rest).toEqual([])
  })

  test.runIf(isLong)("the tour of docs/how-to/call-as-a-service.md runs, and ends with a revoked token", () => {
    const answers = run(tour)
    expect(answers).toMatchObject([
      { scope: "notes.read notes.write", audience: "svc-notes" },
      { active: true, gty: "session" },
      { scope: "notes.read", expires_in: 300 },
      { scope: "notes.read", expires_in: 600 },
      {},
      {},
      { error: "invalid_grant", reason: "PAT_INVALID" },
    ])
    expect(answers[4]).toEqual({})
    expect(answers[5]).toEqual({})
  })

  test.runIf(isLong)(
    "the tour of docs/how-to/try-the-stand-in-providers.md lists two connections, and signs in by the second",
    () => {
      const [listed, signedIn, ...rest] = run(withConnections)
      expect(listed).toMatchObject({
        options: [
          { provider: "IDP_A", displayName: "Stand-in" },
          { provider: "IDP_A", connection: "partner", authorizationEndpoint: `${program.url}/dev/partner/auth` },
          { provider: "IDP_B" },
          { provider: "IDP_C" },
        ],
      })
      expect(signedIn).toMatchObject({ created: true, identity: { primaryEmail: "ada@example.com" } })
      expect(rest).toEqual([])
    },
  )

  test.runIf(isLong)("the tour of IDP_B signs one person in twice", () => {
    const [first, switched, second, ...rest] = run(withIdpB)
    expect(first).toMatchObject({ created: true, identity: { primaryEmail: "ada@example.com" } })
    expect(switched).toEqual({ down: false, delayMs: 0, issuer: "second" })
    expect(second).toMatchObject({ identity: { primaryEmail: "ada@example.com" } })
    expect(second).not.toHaveProperty("created")
    expect(rest).toEqual([])
  })

  test("the tour of IDP_C signs one person in with a password and with a link", () => {
    const [byPassword, byLink, ...rest] = run(withIdpC)
    expect(byPassword).toMatchObject({ created: true, identity: { primaryEmail: "ada@example.com" } })
    expect(byLink).toMatchObject({ identity: (byPassword as { identity: object }).identity })
    expect(byLink).not.toHaveProperty("created")
    expect(rest).toEqual([])
  })

  test.runIf(isLong)(
    "the tour of docs/how-to/administer-an-app.md creates an app, its members and roles, and archives them",
    () => {
      const answers = run(asAdministrator)
      expect(answers).toMatchObject([
        { providerClient: { hasClientSecret: true, status: "ACTIVE" } },
        { providerClient: { connection: "okta", issuers: ["https://example.okta.com"], displayName: "Okta" } },
        { options: [{ displayName: "IDP_A" }, { connection: "okta", displayName: "Okta", clientId: "0oa1" }] },
        { context: { type: "bed", status: "ACTIVE" } },
        { permission: { key: "garden.roses.prune" } },
        { app: { scopes: [{ key: "garden.look" }, { key: "garden.weed", permissions: ["garden.roses.prune"] }] } },
        { code: expect.stringMatching(/^sginv_/), invitation: { status: "PENDING" } },
        { apps: [{ name: "Garden" }] },
        { membership: { status: "ACTIVE" } },
        { app: { settings: { sessionAbsoluteSeconds: 86_400, allowedOrigins: ["https://garden.example"] } } },
        { app: { settings: { sessionAbsoluteSeconds: 86_400 } } },
        { reason: "OUTPUT_ONLY_FIELD", metadata: { field: "app.status" } },
        { membership: { status: "SUSPENDED" } },
        { grant: { status: "REVOKED" } },
        { tenant: { status: "ARCHIVED" } },
        { app: { status: "SUSPENDED" } },
      ])
      expect(answers[10]).not.toHaveProperty("app.settings.allowedOrigins")
    },
  )

  test("a standard client finds the endpoints by discovery (RFC 8414)", async () => {
    const issuer = new URL(program.url)
    const options = { algorithm: "oauth2", [oauth.allowInsecureRequests]: true } as const
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
    expect(as).toMatchObject({
      issuer: program.url,
      token_endpoint: `${program.url}/auth/token`,
      response_types_supported: [],
      token_endpoint_auth_signing_alg_values_supported: ["ES256"],
    })
    for (const address of [as.token_endpoint, as.introspection_endpoint, as.revocation_endpoint]) {
      expect((await fetch(address ?? "", { method: "POST" })).status).toBe(400)
    }
    expect((await fetch(as.jwks_uri ?? "")).status).toBe(200)
  })
})
