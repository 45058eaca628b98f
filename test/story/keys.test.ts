// The life of signing keys, as seen by verifiers, clients and thieves.

import { createPrivateKey } from "node:crypto"
import type { KeyPurpose } from "@signet/kernel/keys/purposes"
import { signingKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createKeyRing } from "../../server/keys/key-ring.ts"
import { createSecrets } from "../../server/keys/secrets.ts"
import { createSigningKeys } from "../../server/store/postgres/keys/signing-keys.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import {
  createTestDatabase,
  describeOnPostgres,
  describeStory,
  openTestStore,
  type TestStore,
} from "../support/postgres.ts"
import { refusedProgram } from "../support/program.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const kidOf = (token: string): string => {
  const header: unknown = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString())
  return typeof header === "object" && header !== null && "kid" in header ? String(header.kid) : ""
}

describeStory("signing keys of two servers on one database", (kind) => {
  let store: TestStore
  let servers: [TestServer, TestServer]
  let clients: [Clients, Clients]
  beforeAll(async () => {
    store = await openTestStore(kind)
    servers = [await startTestServer({ store }), await startTestServer({ store })]
    const connect = protocols["Connect JSON over HTTP/1.1"]
    if (connect === undefined) throw new Error("no transport")
    clients = [clientsOver(connect(servers[0].url)), clientsOver(connect(servers[1].url))]
  })
  afterAll(async () => {
    for (const server of servers ?? []) await server.close()
    await store?.close()
  })

  /** Does the program's periodic work of every few seconds. */
  async function pass(ms: number): Promise<void> {
    for (const server of servers) server.advance(ms)
    for (const server of servers) await server.keys.tick()
  }
  // Both servers use the provider of the second one.
  const signIn = async () => clients[0].auth.externalLogin(await servers[1].login("ada"))
  const published = async (server: TestServer): Promise<string[]> => {
    const response = await fetch(`${server.url}/.well-known/jwks.json`)
    expect(response.headers.get("cache-control")).toBe("public, max-age=300, stale-while-revalidate=600")
    const { keys } = (await response.json()) as { keys: { kid: string }[] }
    return keys.map(({ kid }) => kid)
  }

  test("a rotation ends no session, and earlier tokens are accepted until they expire", async () => {
    const before = await signIn()
    const old = kidOf(before.accessToken)
    await pass(30 * day - 5 * minute)
    const last = await signIn()
    expect(kidOf(last.accessToken)).toBe(old)
    await pass(5 * minute)
    const first = await signIn()
    expect(kidOf(first.accessToken)).not.toBe(old)
    for (const { auth } of clients) {
      for (const { accessToken } of [last, first]) await auth.me({}, bearer(accessToken))
    }
    for (const server of servers) expect(await published(server)).toHaveLength(3)

    await pass(5 * minute + 31_000)
    for (const { auth } of clients) {
      expect(await refusal(auth.me({}, bearer(last.accessToken)))).toBe("Unauthenticated TOKEN_EXPIRED")
      await auth.me({}, bearer(first.accessToken))
    }
    await pass(day)
    for (const server of servers) expect(await published(server)).not.toContain(old)
    // The session is older than its tokens' key, and still works.
    const refreshed = await clients[1].auth.refresh({ refreshToken: last.refreshToken })
    await clients[0].auth.me({}, bearer(refreshed.accessToken))
  })

  test.runIf(isLong)(
    "each key is published for a day before it signs, and both servers sign with the same key",
    async () => {
      const publishedAt = new Map<string, number>()
      const known = new Set(await published(servers[0]))
      const met: string[] = []
      for (let hours = 0; hours < 70 * 24; hours += 12) {
        await pass(12 * hour)
        const [mine, other] = servers.map(({ keys }) => keys.sign("at+jwt", {}))
        const kid = kidOf(mine ?? "")
        expect(kidOf(other ?? "")).toBe(kid)
        for (const one of await published(servers[0])) {
          if (!known.has(one) && !publishedAt.has(one)) publishedAt.set(one, hours)
        }
        if (met.at(-1) !== kid) {
          met.push(kid)
          expect(known.has(kid) || hours - (publishedAt.get(kid) ?? hours) >= 24).toBe(true)
        }
      }
      expect(met.length).toBeGreaterThanOrEqual(3)
    },
  )

  test("a compromised key's tokens are refused at once, and no session ends", async () => {
    const victim = await signIn()
    await clients[0].auth.me({}, bearer(victim.accessToken))
    await clients[1].auth.me({}, bearer(victim.accessToken))
    const stolen = kidOf(victim.accessToken)
    await servers[0].keys.compromise(stolen)
    expect(await refusal(clients[0].auth.me({}, bearer(victim.accessToken)))).toBe("Unauthenticated KEY_UNKNOWN")
    expect(await published(servers[0])).not.toContain(stolen)

    const { accessToken } = await clients[0].auth.refresh({ refreshToken: victim.refreshToken })
    // The other server has not read the change yet, but already knows the next key.
    await clients[1].auth.me({}, bearer(accessToken))
    await pass(0)
    expect(await refusal(clients[1].auth.me({}, bearer(victim.accessToken)))).toBe("Unauthenticated KEY_UNKNOWN")
    expect(await published(servers[1])).toEqual(await published(servers[0]))
  })

  test("the database contains private keys encrypted only, and none of a retired key", async () => {
    const { rows } = await sql<{
      row: string
      kid: string
      purpose: KeyPurpose
      status: string
      private_sealed: Uint8Array
    }>`
      select signing_key::text as row, kid, purpose, status, private_sealed from signing_key`.execute(store.db)
    for (const { row, kid, purpose, status, private_sealed: sealed } of rows) {
      if (status !== "CURRENT" && status !== "NEXT") {
        expect(sealed).toHaveLength(0)
        continue
      }
      const opened = servers[0].secrets.open(signingKeyLabel({ kid, purpose }), new Uint8Array(sealed))
      if (opened === undefined) throw new Error("the service cannot open its own key")
      const pkcs8 = Buffer.from(opened)
      const { d = "" } = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" }).export({ format: "jwk" })
      const scalar = Buffer.from(d, "base64url")
      expect(scalar).toHaveLength(32)
      expect(Buffer.from(sealed).includes(scalar)).toBe(false)
      for (const secret of [scalar, pkcs8]) {
        for (const encoding of ["hex", "base64", "base64url"] as const)
          expect(row).not.toContain(secret.toString(encoding))
      }
    }
    expect(rows.map(({ status }) => status)).toEqual(
      expect.arrayContaining(["CURRENT", "NEXT", "COMPROMISED", "RETIRED"]),
    )
  })
})

describeOnPostgres("a program with another sealing key", () => {
  test.runIf(isLong)("does not start, and prints the reason in one sentence", async () => {
    const database = await createTestDatabase()
    const { db, close } = openPostgres(database.url, { maxConnections: 1 })
    const pepper = new Uint8Array(32).fill(1)
    const secrets = createSecrets({ peppers: [{ version: 1, key: pepper }], sealingKey: new Uint8Array(32).fill(2) })
    const ring = createKeyRing({ signingKeys: createSigningKeys(db), secrets, clock: { nowMs: Date.now } })
    await ring.start()
    await close()
    const other = Buffer.alloc(32, 3).toString("base64")
    const { code, stdout, stderr } = await refusedProgram({
      SIGNET_PROFILE: "development",
      DATABASE_URL: database.url,
      PORT: "0",
      SIGNET_SEALING_KEY: other,
      SIGNET_PEPPERS: `1:${Buffer.from(pepper).toString("base64")}`,
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^the signing key [\w-]{43} does not open under this sealing key$/m)
    expect(stdout + stderr).not.toContain(other)
    await database.drop()
  })
})
