// Two servers, each a process with settings of its own, on one PostgreSQL behind one nginx. Every step alternates between
// them: what one has written, the other knows at its next call.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createConnectTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { settings } from "../drills/failover.ts"
import { administer } from "../drills/program-clients.ts"
import { signInAtStandIn } from "../drills/writers.ts"
import { hasProxy, type RunningProxy, startProxy } from "../release/proxy.ts"
import { makeCertificate } from "../support/certificate.ts"
import { bearer, type Clients, clientsOver, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { freePort } from "../support/free-port.ts"
import { noPostgres } from "../support/postgres.ts"
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const certificate = isLong ? makeCertificate() : undefined
const missing = [
  ...(noPostgres === undefined ? [] : [noPostgres]),
  ...(hasProxy("nginx") ? [] : ["no nginx"]),
  ...(certificate === undefined ? ["no openssl"] : []),
]
// Each server starts in seconds.
const skipped = isLong ? missing.join(", ") : "npm run test:long runs them"

describe.skipIf(skipped !== "")(`two servers behind one proxy${skipped && ` (skipped: ${skipped})`}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-two-"))
  let postgres: PostgresServer | undefined
  let environment: Readonly<Record<string, string>>
  let servers: [RunningProgram, RunningProgram]
  let proxy: RunningProxy
  let one: Clients
  let two: Clients
  let proxied: Clients

  beforeAll(async () => {
    postgres = await startPostgres()
    const ports = [await freePort(), await freePort()] as const
    const issuer = `http://127.0.0.1:${ports[0]}`
    environment = { ...settings(postgres?.url ?? ""), SIGNET_ISSUER: issuer, SIGNET_TRUSTED_HOPS: "1" }
    const start = (index: 0 | 1) =>
      startProgram({ ...environment, PORT: String(ports[index]), SIGNET_DATA: join(folder, `data-${index}`) })
    // The first one migrates.
    servers = [await start(0), await start(1)]
    if (certificate === undefined) throw new Error("no certificate")
    proxy = await startProxy("nginx", { upstream: ports[0], second: ports[1], folder, certificate })
    const connect = (baseUrl: string) =>
      clientsOver(createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { ca: certificate.cert } }))
    one = connect(servers[0].url)
    two = connect(servers[1].url)
    proxied = connect(proxy.url)
  }, 240_000)
  afterAll(async () => {
    await proxy?.stop()
    for (const server of servers ?? []) await server.end("SIGTERM")
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test("a session of one is refreshed by the other, and revoked by either: the next call is refused", async () => {
    for (let index = 0; index < 10; index++) {
      const [first, second] = index % 2 === 0 ? [one, two] : [two, one]
      // Each server has a stand-in provider of its own, and both accept the first one's.
      const { refreshToken } = await signInAtStandIn(servers[0].url, index)
      const fresh = await second.auth.refresh({ refreshToken })
      for (const { auth } of [first, second, proxied]) {
        expect((await auth.me({}, bearer(fresh.accessToken))).session?.id).toBe(fresh.session?.id)
      }
      await first.auth.logout({ refreshToken: fresh.refreshToken })
      expect(await refusal(second.auth.me({}, bearer(fresh.accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
      // nginx takes the servers in turn.
      const calls = Array.from({ length: 4 }, () => refusal(proxied.auth.me({}, bearer(fresh.accessToken))))
      expect(new Set(await Promise.all(calls))).toEqual(new Set(["Unauthenticated SESSION_REVOKED"]))
      expect(await refusal(second.auth.refresh({ refreshToken: fresh.refreshToken }))).toMatch(/^Unauthenticated /)
    }
  })

  test("a refresh token that both get at the same time starts no second session", async () => {
    const { refreshToken } = await signInAtStandIn(servers[0].url, 20)
    const retryKey = Buffer.alloc(16, 3).toString("base64url")
    const answers = await Promise.all([one, two].map(({ auth }) => auth.refresh({ refreshToken, retryKey })))
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1)
    // The same token under another key was copied: its session ends on both.
    expect(await refusal(two.auth.refresh({ refreshToken }))).toBe("Unauthenticated REFRESH_TOKEN_REUSED")
    for (const { auth } of [one, two]) {
      const said = await refusal(auth.me({}, bearer(answers[0]?.accessToken ?? "")))
      expect(said).toBe("Unauthenticated SESSION_REVOKED")
    }
  })

  test("a key that rotates signs on both, and both accept the tokens of the key before", async () => {
    const { refreshToken, accessToken: before } = await signInAtStandIn(servers[0].url, 30)
    await administer(environment, "keys", "tokens", "rotate", "ACCESS", "--early")
    let token = refreshToken
    const refreshed = async ({ auth }: Clients) => {
      const answer = await auth.refresh({ refreshToken: token })
      token = answer.refreshToken
      return answer.accessToken
    }
    for (const server of [one, two])
      await expect.poll(async () => kidOf(await refreshed(server))).not.toBe(kidOf(before))
    const after = await refreshed(one)
    expect(kidOf(await refreshed(two))).toBe(kidOf(after))
    for (const { auth } of [one, two, proxied]) {
      for (const accessToken of [before, after]) await auth.me({}, bearer(accessToken))
    }
    const published = servers.map(async ({ url }) => (await fetch(`${url}/.well-known/jwks.json`)).text())
    expect(new Set(await Promise.all(published)).size).toBe(1)
  })

  test("one that stops fails no call through the proxy", async () => {
    const { accessToken } = await signInAtStandIn(servers[0].url, 40)
    const me = () => proxied.auth.me({}, bearer(accessToken))
    const ended = servers[1].end("SIGTERM")
    const calling = (async () => {
      for (let call = 0; call < 50; call++) await me()
    })()
    await Promise.all([ended, calling])
    await me()
  })
})

function kidOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid
}
