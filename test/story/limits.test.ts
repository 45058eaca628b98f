// Rate limits as callers see them: over each protocol, on two servers, behind proxies, and without a database.
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { create, toJsonString } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { defaultLimits, type Limits, type Window } from "@signet/kernel/limits/policy"
import { ClientDeviceSchema, ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { Platform } from "@signet/proto/auth/v1/records"
import { RetryInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createSigningKeys } from "../../server/store/postgres/keys/signing-keys.ts"
import { createMoving } from "../../server/store/postgres/messaging/moving/moving.ts"
import { createMessagingStore } from "../../server/store/postgres/messaging/store.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { createLiveness } from "../../server/store/postgres/session/liveness.ts"
import { createStore } from "../../server/store/postgres/store.ts"
import { createRevocationLog } from "../../server/store/postgres/token/revocation-log.ts"
import { testAuditLogDeps } from "../support/audit-log-deps.ts"
import { clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import {
  createTestDatabase,
  describeOnPostgres,
  openTestStore,
  storyStore,
  type TestStore,
} from "../support/postgres.ts"
import { createRestTransport } from "../support/rest-transport.ts"
import { type LoginRequest, startTestServer, type TestServer } from "../support/server.ts"

const hourly = (limit: number): Window => ({ limit, seconds: 3_600 })
const { windows } = defaultLimits

/** The defaults, with other windows for refreshes or sign-ins. */
const limitsWith = (change: Partial<Limits["windows"]>): Limits => ({
  ...defaultLimits,
  windows: { ...windows, ...change },
})
async function loginFrom(server: TestServer, deviceId: string): Promise<LoginRequest> {
  const request = create(ExternalLoginRequestSchema, await server.login(deviceId))
  return Object.assign(request, { device: create(ClientDeviceSchema, { deviceId }) })
}
const refused = "ResourceExhausted RATE_LIMITED"

describe("a caller who calls too often", () => {
  let server: TestServer
  beforeAll(async () => {
    const limits = limitsWith({
      login: { ip: hourly(1_000), device: hourly(3) },
      sign_in_options: { ip: hourly(3) },
      refresh: { ip: hourly(100_000), session: hourly(2) },
    })
    server = await startTestServer({ store: storyStore, limits, isClockStopped: true })
  })
  afterAll(() => server.close())

  test("gets the list of sign-in options up to a limit over all apps", async () => {
    const { auth } = clientsOver(createRestTransport(server.url))
    const of = { appId: server.app.id, platform: Platform.WEB }
    for (let i = 0; i < 3; i++) expect((await auth.listSignInOptions(of)).options).not.toEqual([])
    expect(await refusal(auth.listSignInOptions(of))).toBe(refused)
    expect(await refusal(auth.listSignInOptions({ ...of, appId: `app_${"0".repeat(26)}` }))).toBe(refused)
  })

  test.each(Object.entries(protocols))("gets a retry delay over %s", async (name, transport) => {
    const { auth } = clientsOver(transport(server.url))
    let { refreshToken } = await auth.externalLogin(await server.login(name))
    for (const left of [1, 0]) {
      const told = new Headers()
      const onHeader = (headers: Headers) => {
        for (const [name, value] of headers) told.set(name, value)
      }
      const answer = await auth.refresh({ refreshToken }, { onHeader })
      refreshToken = answer.refreshToken
      expect(told.get("ratelimit-policy")).toBe(`"refresh-ip";q=100000;w=3600, "refresh-session";q=2;w=3600`)
      expect(told.get("ratelimit")).toMatch(
        new RegExp(`^"refresh-ip";r=\\d+;t=\\d+, "refresh-session";r=${left};t=\\d+$`),
      )
    }
    const error = await auth.refresh({ refreshToken }).catch(ConnectError.from)
    if (!(error instanceof ConnectError)) throw new Error("the call was not refused")
    expect(error.code).toBe(Code.ResourceExhausted)
    const seconds = Number(error.metadata.get("retry-after"))
    expect(seconds).toBeGreaterThan(1_700)
    expect(seconds).toBeLessThanOrEqual(1_800)
    expect(error.metadata.get("ratelimit")).toContain(`"refresh-session";r=0;`)
    // REST has the delay in the header only.
    const [info] = error.findDetails(RetryInfoSchema)
    expect(info?.retryDelay?.seconds ?? BigInt(seconds)).toBe(BigInt(seconds))
    if (name !== "REST") expect(info).toBeDefined()

    server.advance((seconds - 1) * 1_000)
    expect(await refusal(auth.refresh({ refreshToken }))).toBe(refused)
    server.advance(1_000)
    expect((await auth.refresh({ refreshToken })).refreshToken).not.toBe("")
  })

  test("is refused over REST with a problem that may not be stored", async () => {
    const { auth } = clientsOver(protocols.REST?.(server.url) ?? fail())
    let { refreshToken } = await auth.externalLogin(await server.login("problem"))
    for (let i = 0; i < 2; i++) ({ refreshToken } = await auth.refresh({ refreshToken }))
    const response = await fetch(`${server.url}/auth/session/refresh`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ refreshToken }),
    })
    const { headers } = response
    expect([response.status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      429,
      "application/problem+json",
      "no-store",
    ])
    expect(await response.json()).toMatchObject({
      reason: "RATE_LIMITED",
      metadata: { retry_after: headers.get("retry-after") },
    })
  })

  test("uses no calls of another session or device", async () => {
    const { auth } = clientsOver(protocols.gRPC?.(server.url) ?? fail())
    const login = (deviceId: string) => loginFrom(server, deviceId)
    for (let i = 0; i < 3; i++) await auth.externalLogin(await login("phone"))
    expect(await refusal(auth.externalLogin(await login("phone")))).toBe(refused)
    const { refreshToken } = await auth.externalLogin(await login("tablet"))
    expect((await auth.refresh({ refreshToken })).refreshToken).not.toBe("")
  })

  test("with a copied token still ends the session", async () => {
    const { auth } = clientsOver(protocols.gRPC?.(server.url) ?? fail())
    const first = await auth.externalLogin(await server.login("copied"))
    const second = await auth.refresh({ refreshToken: first.refreshToken })
    const third = await auth.refresh({ refreshToken: second.refreshToken })
    expect(await refusal(auth.refresh({ refreshToken: third.refreshToken }))).toBe(refused)
    expect(await refusal(auth.refresh({ refreshToken: first.refreshToken }))).toBe(
      "Unauthenticated REFRESH_TOKEN_REUSED",
    )
  })
})

describe("an IP address", () => {
  const limits = limitsWith({ login: { ip: hourly(3), device: hourly(100) } })
  /** The number of five sign-ins that pass, each with its own X-Forwarded-For. */
  async function passing(server: TestServer, forwarded: (i: number) => string): Promise<number> {
    let passed = 0
    for (let i = 0; i < 5; i++) {
      const response = await fetch(`${server.url}/auth/login/idp-a`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-forwarded-for": forwarded(i),
          forwarded: `for=${forwarded(i)}`,
        },
        body: toJsonString(
          ExternalLoginRequestSchema,
          create(ExternalLoginRequestSchema, await server.login(`a ${i}`)),
        ),
      })
      if (response.status === 200) passed++
    }
    return passed
  }

  test("is not read from a header if no proxy is configured", async () => {
    const server = await startTestServer({ store: storyStore, limits })
    expect(await passing(server, (i) => `203.0.113.${i}`)).toBe(3)
    await server.close()
  })

  test.runIf(isLong)("is the value of the configured proxy, and not the caller's own header value", async () => {
    const server = await startTestServer({ store: storyStore, limits, trustedHops: 1 })
    expect(await passing(server, (i) => `203.0.113.${i}, 198.51.100.7`)).toBe(3)
    expect(await passing(server, (i) => `198.51.100.7, 203.0.113.${i}`)).toBe(5)
    expect(await passing(server, (i) => `2001:db8:0:1::${i}`)).toBe(3)
    expect(await passing(server, (i) => `2001:db8:0:${i + 2}::1`)).toBe(5)
    await server.close()
  })
})

describeOnPostgres("limits in the database", () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openTestStore("postgres", { maxConnections: 30 })
  })
  afterAll(() => store.close())

  test("contain no IP address, device or session in the tables", async () => {
    const server = await startTestServer({ store })
    const { auth } = clientsOver(protocols.gRPC?.(server.url) ?? fail())
    const { refreshToken, session } = await auth.externalLogin(await loginFrom(server, "device-in-clear"))
    await auth.refresh({ refreshToken })
    const rows = await store.db.selectFrom("rate_limit").selectAll().execute()
    expect(rows.length).toBeGreaterThanOrEqual(4)
    const kept = rows.map((row) => `${JSON.stringify(row)} ${Buffer.from(row.key).toString("latin1")}`).join("\n")
    for (const clear of ["device-in-clear", session?.id ?? fail(), "127.0.0.1", server.app.id])
      expect(kept).not.toContain(clear)
    await server.close()
  })

  test.runIf(isLong)(
    "are shared by two servers: of three times the limit in parallel, exactly the limit passes",
    async () => {
      const limits = limitsWith({ login: { ip: hourly(20), device: hourly(1_000) } })
      const servers = [await startTestServer({ store, limits }), await startTestServer({ store, limits })]
      const clients = servers.map(({ url }) => clientsOver(protocols.gRPC?.(url) ?? fail()))
      const logins = await Promise.all(Array.from({ length: 60 }, (_, i) => servers[1]?.login(`shared ${i}`)))
      const outcomes = await Promise.allSettled(
        logins.map((login, i) => clients[i % 2]?.auth.externalLogin(login ?? {})),
      )
      const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [Code[outcome.reason.code]] : []))
      expect(outcomes.length - reasons.length).toBe(20)
      expect(new Set(reasons)).toEqual(new Set(["ResourceExhausted"]))
      for (const server of servers) await server.close()
    },
  )

  test("refuse without a database, and never limit the key set", async () => {
    const database = await createTestDatabase()
    const proxy = await startProxy(database.url)
    const { db, close } = openPostgres(proxy.url)
    const server = await startTestServer({
      store: {
        db,
        close,
        store: createStore(db, { audit: testAuditLogDeps() }),
        messaging: createMessagingStore(db, { audit: testAuditLogDeps() }),
        moving: createMoving(db, { audit: testAuditLogDeps() }),
        liveness: createLiveness(db),
        signingKeys: createSigningKeys(db),
        revocationLog: createRevocationLog(db),
        onRevoked: new Set<() => void>(),
      },
    })
    const { auth, tokens } = clientsOver(protocols.gRPC?.(server.url) ?? fail())
    const login = await server.login("down")
    const { refreshToken } = await auth.externalLogin(login)
    proxy.stop()
    expect(await refusal(auth.refresh({ refreshToken }))).toBe("Unavailable UNAVAILABLE")
    expect(await refusal(auth.externalLogin(login))).toBe("Unavailable UNAVAILABLE")
    expect((await tokens.getJwks({})).keys).not.toEqual([])
    await server.close()
    await close()
    await database.drop()
  })
})

/** Forwards connections to a database until it is stopped, which ends them. */
async function startProxy(databaseUrl: string): Promise<{ url: string; stop(): void }> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const server = createServer((inner) => {
    const outer = connect(Number(target.port || 5_432), target.hostname)
    for (const socket of [inner, outer]) {
      sockets.add(socket)
      socket.on("error", () => socket.destroy())
    }
    inner.pipe(outer).pipe(inner)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const url = new URL(databaseUrl)
  url.hostname = "127.0.0.1"
  url.port = String(typeof address === "object" ? address?.port : 0)
  return {
    url: url.href,
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function fail(): never {
  throw new Error("this should be there")
}
