// The database goes down, hangs and comes back. Calls are refused with a reason, nobody is admitted meanwhile, and the
// service recovers.

import { randomBytes } from "node:crypto"
import { connect, createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "kysely"
import { pino } from "pino"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createSigningKeys } from "../../server/store/postgres/keys/signing-keys.ts"
import { createMoving } from "../../server/store/postgres/messaging/moving/moving.ts"
import { createMessagingStore } from "../../server/store/postgres/messaging/store.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { createLiveness } from "../../server/store/postgres/session/liveness.ts"
import { createStore } from "../../server/store/postgres/store.ts"
import { createRevocationLog } from "../../server/store/postgres/token/revocation-log.ts"
import { testAuditLogDeps } from "../support/audit-log-deps.ts"
import { bearer, clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { createTestDatabase, describeOnPostgres } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

/** A TCP proxy in front of the database that can refuse or hang connections. */
async function startProxy(databaseUrl: string) {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let mode: "open" | "shut" | "hangs" = "open"
  const server = createServer((program) => {
    if (mode === "shut") return program.destroy()
    const database = connect(Number(target.port || 5432), target.hostname)
    for (const [from, to] of [
      [program, database],
      [database, program],
    ] as const) {
      sockets.add(from)
      from.on("data", (chunk: Buffer) => {
        if (mode === "open") to.write(chunk)
      })
      from.on("error", () => to.destroy())
      from.on("close", () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the proxy has no port")
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${address.port}`
  return {
    url: url.href,
    setMode(to: typeof mode) {
      mode = to
      if (to !== "hangs") for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describeOnPostgres("a database that goes", () => {
  const lines: string[] = []
  let proxy: Awaited<ReturnType<typeof startProxy>>
  let server: TestServer
  let closeAll: () => Promise<void>
  beforeAll(async () => {
    const database = await createTestDatabase()
    proxy = await startProxy(database.url)
    const { db, close } = openPostgres(proxy.url, { maxConnections: 5 })
    const store = {
      db,
      close,
      store: createStore(db, { audit: testAuditLogDeps() }),
      messaging: createMessagingStore(db, { audit: testAuditLogDeps() }),
      moving: createMoving(db, { audit: testAuditLogDeps() }),
      liveness: createLiveness(db),
      signingKeys: createSigningKeys(db),
      revocationLog: createRevocationLog(db),
      onRevoked: new Set<() => void>(),
    }
    server = await startTestServer({
      store,
      log: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
    })
    closeAll = async () => {
      await server.close()
      await close()
      await proxy.close()
      await database.drop()
    }
  })
  afterAll(() => closeAll?.())

  const clients = (name: string) => clientsOver(protocols[name]?.(server.url) as never)
  const ready = async () => (await fetch(`${server.url}/readyz`)).status

  test("is answered with UNAVAILABLE over every protocol until the database returns", async () => {
    const { auth } = clients("gRPC")
    const user = await auth.externalLogin(await server.login("survivor"))
    expect(await ready()).toBe(200)
    const secret = randomBytes(8).toString("hex")
    proxy.setMode("shut")
    for (const name of Object.keys(protocols)) {
      const { auth, sessions } = clients(name)
      const request = await server.login(secret)
      const calls = [
        auth.me({}, bearer(user.accessToken)),
        sessions.listSessions({}, bearer(user.accessToken)),
        auth.refresh({ refreshToken: user.refreshToken }),
        auth.logout({ refreshToken: user.refreshToken }),
        auth.externalLogin(request),
      ]
      const refused = await Promise.all(calls.map(refusal))
      expect(refused).toEqual(calls.map(() => "Unavailable UNAVAILABLE"))
    }
    expect(await ready()).toBe(503)
    expect((await fetch(`${server.url}/livez`)).status).toBe(200)
    const fromPage = { headers: { origin: "https://notes.example" } }
    expect((await fetch(`${server.url}/.well-known/jwks.json`, fromPage)).status).toBe(200)

    proxy.setMode("open")
    await expect.poll(ready).toBe(200)
    expect((await auth.me({}, bearer(user.accessToken))).session?.id).toBe(user.session?.id)
    expect((await auth.refresh({ refreshToken: user.refreshToken })).refreshToken).not.toBe("")
    expect((await auth.externalLogin(await server.login(secret))).created).toBe(true)
    expect(lines.join("")).not.toContain(secret)
    expect(lines.join("")).not.toContain(user.refreshToken)
  })

  test.runIf(isLong)(
    "that hangs with all connections in use delays calls no longer than the connection timeout",
    async () => {
      const { auth } = clients("Connect JSON over HTTP/1.1")
      const user = await auth.externalLogin(await server.login("patient"))
      proxy.setMode("hangs")
      const stuck: Promise<string>[] = []
      for (let call = 0; call < 5; call++) {
        stuck.push(refusal(auth.me({}, { ...bearer(user.accessToken), timeoutMs: 20_000 })))
        // Calls that arrive within a quarter of a second share a statement, and so a connection.
        await sleep(300)
      }
      const late = await Promise.all(
        Array.from({ length: 5 }, () => refusal(auth.me({}, { ...bearer(user.accessToken), timeoutMs: 9_000 }))),
      )
      // The code is not DeadlineExceeded: the server gave up before the callers' deadline.
      expect(new Set(late)).toEqual(new Set(["Unavailable UNAVAILABLE"]))
      expect(await ready()).toBe(503)
      proxy.setMode("open")
      await Promise.all(stuck)
      await expect.poll(ready).toBe(200)
      expect((await auth.me({}, bearer(user.accessToken))).session?.id).toBe(user.session?.id)
    },
  )

  test("loses no connection when callers disconnect during a call", async () => {
    const { auth } = clients("Connect JSON over HTTP/1.1")
    const user = await auth.externalLogin(await server.login("leaver"))
    const calls = Array.from({ length: 40 }, (_, i) => {
      const signal = AbortSignal.timeout(1 + (i % 12))
      const call =
        i % 2 ? auth.me({}, { ...bearer(user.accessToken), signal }) : auth.refresh({ refreshToken: "x" }, { signal })
      return call.catch(() => undefined)
    })
    await Promise.all(calls)
    const after = await Promise.all(Array.from({ length: 10 }, () => auth.me({}, bearer(user.accessToken))))
    expect(after.length).toBe(10)
    // A call whose caller disconnected still ends its transaction.
    await expect.poll(idleInTransaction).toEqual([])
  })

  async function idleInTransaction() {
    const { rows } =
      await sql`select pid from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`.execute(
        server.store.db,
      )
    return rows
  }
})
