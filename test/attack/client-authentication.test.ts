// Attempts to authenticate as another client, and to find out which clients exist.
import { newId, parseId } from "@signet/kernel/ids"
import type { Store, Tx } from "@signet/kernel/ports"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createStore } from "../../server/store/postgres/store.ts"
import { testAuditLogDeps } from "../support/audit-log-deps.ts"
import { isLong } from "../support/effort.ts"
import { addMachine, addOtherApp, assertion, basic, type Machine, postForm } from "../support/machines.ts"
import { describeOnPostgres, openTestStore, storyStore } from "../support/postgres.ts"
import { startTestServer } from "../support/server.ts"
import { accessTokenType, refused, startTokenWorld, type TokenWorld } from "../support/token-world.ts"

let world: TokenWorld
beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
})
afterAll(() => world?.server.close())

const credentials = { grant_type: "client_credentials", audience: "svc-notes" }

describe("a client's assertion", () => {
  const use = (form: Record<string, string>) => world.token({ ...credentials, ...form })
  test("is accepted once", async () => {
    const form = assertion(world.gateway)
    expect((await use(form)).status).toBe(200)
    expect(refused(await use(form))).toBe("401 invalid_client CLIENT_INVALID")
  })

  test("is used up by a call that is refused for another reason", async () => {
    const form = assertion(world.gateway)
    expect(refused(await use({ ...form, audience: "svc-mail" }))).toBe("400 invalid_target AUDIENCE_NOT_ALLOWED")
    expect(refused(await use(form))).toBe("401 invalid_client CLIENT_INVALID")
  })

  const iat = Math.floor(Date.now() / 1_000)
  test.each<[string, Parameters<typeof assertion>[1] | (() => Parameters<typeof assertion>[1])]>([
    ["for another server", { claims: { aud: "https://other.example" } }],
    ["for two servers", { claims: { aud: ["https://auth.example", "https://other.example"] } }],
    ["for nobody", { claims: { aud: [] } }],
    ["that lives too long", { claims: { iat, exp: iat + 61 } }],
    ["without an end", { claims: { exp: undefined } }],
    ["without a beginning", { claims: { iat: undefined } }],
    ["that has expired", { claims: { iat: iat - 120, exp: iat - 60 } }],
    ["of tomorrow", { claims: { iat: iat + 86_400, exp: iat + 86_460 } }],
    ["without an id", { claims: { jti: undefined } }],
    ["of somebody else", { claims: { sub: "other" } }],
    [
      "in the name of another client",
      () => ({ claims: { iss: world.stranger.account.clientId, sub: world.stranger.account.clientId } }),
    ],
    ["by another key", () => ({ key: world.stranger.privateKey })],
    ["that names another key", () => ({ header: { kid: world.stranger.kid } })],
    ["with alg none", { header: { alg: "none" } }],
    ["with a key of its own", { header: { jwk: { kty: "EC" } } }],
    ["with a critical extension", { header: { crit: ["b64"], b64: false } }],
  ])("%s is refused", async (_, change) => {
    const form = assertion(world.gateway, typeof change === "function" ? change() : change)
    expect(refused(await use(form))).toBe("401 invalid_client CLIENT_INVALID")
  })

  test("is not accepted as an access token, and an access token is not accepted as an assertion", async () => {
    const token = String((await world.token(credentials, basic(world.gateway))).body.access_token)
    expect(refused(await use({ ...assertion(world.gateway), client_assertion: token }))).toBe(
      "401 invalid_client CLIENT_INVALID",
    )
    const { client_assertion = "" } = assertion(world.gateway)
    expect((await world.introspect(client_assertion)).body).toEqual({ active: false })
  })
})

describeOnPostgres("a client's assertion at two servers of one database", () => {
  test.runIf(isLong)("is accepted once by concurrent calls", async () => {
    const store = await openTestStore("postgres", { maxConnections: 20 })
    const [first, second] = [await startTestServer({ store }), await startTestServer({ store })]
    try {
      const machine = await addMachine(first)
      for (let round = 0; round < 5; round++) {
        const body = new URLSearchParams({ ...credentials, ...assertion(machine) })
        const statuses = await Promise.all(
          [first, second, first, second].map(
            async ({ url }) => (await fetch(`${url}/auth/token`, { method: "POST", body })).status,
          ),
        )
        expect(statuses.sort()).toEqual([200, 401, 401, 401])
      }
    } finally {
      await first.close()
      await second.close()
      await store.close()
    }
  })
})

describe("a client with a valid secret and key is refused", () => {
  const end = {
    "once its account is disabled": ({ account }: Machine) =>
      world.server.store.db.updateTable("service_account").set({ status: "DISABLED" }).where("id", "=", account.id),
    "once its principal is suspended": ({ account: { principalId } }: Machine) =>
      world.server.store.db.updateTable("principal").set({ status: "SUSPENDED" }).where("id", "=", principalId),
    "once its app is suspended": ({ account: { appId } }: Machine) =>
      world.server.store.db.updateTable("app").set({ status: "SUSPENDED" }).where("id", "=", appId),
  }
  test.each(Object.entries(end))("%s: each state alone is enough", async (_, statement) => {
    const machine = await addMachine(world.server, {
      appId: (await addOtherApp(world.server)).id,
      scopes: ["notes.read", "auth.introspect"],
      allowedAudiences: ["svc-notes", "auth"],
      defaultScopes: ["auth.introspect"],
    })
    const ask = (form: Record<string, string>, headers = {}) => world.token({ ...credentials, ...form }, headers)
    const issued = await ask({ audience: "auth" }, basic(machine))
    const bearer = { authorization: `Bearer ${issued.body.access_token}` }
    const { url } = world.server
    const token = String(issued.body.access_token)
    const introspect = (headers: Record<string, string>) => postForm(`${url}/auth/token/introspect`, { token }, headers)
    expect((await ask(assertion(machine))).status).toBe(200)
    expect((await introspect(bearer)).status).toBe(200)
    // The process then knows the client.
    for (let call = 0; call < 3; call++) expect((await introspect(basic(machine))).body.active).toBe(false)
    await statement(machine).execute()
    expect(refused(await ask({}, basic(machine)))).toBe("401 invalid_client CLIENT_INVALID")
    expect(refused(await ask(assertion(machine)))).toBe("401 invalid_client CLIENT_INVALID")
    expect(refused(await introspect(basic(machine)))).toBe("401 invalid_client CLIENT_INVALID")
    expect((await introspect(bearer)).status).toBe(401)
    const onBehalf = { grant_type: "on_behalf_of", audience: "svc-notes", scope: "notes.read", job_id: "j" }
    const subject = { subject_token: token, subject_token_type: accessTokenType }
    expect(refused(await world.token({ ...onBehalf, ...subject }, basic(machine)))).toBe(
      "401 invalid_client CLIENT_INVALID",
    )
    expect((await postForm(`${url}/auth/token/revoke`, { token }, basic(machine))).status).toBe(401)
  })
})

describe("clients are indistinguishable to a stranger", () => {
  test.runIf(isLong)(
    "unknown, unauthenticated and disabled clients get the same body after the same statements",
    async () => {
      const store = await openTestStore(storyStore)
      const calls: string[] = []
      let statements = 0
      // Counts every statement that reaches the database.
      const counted = store.db.withPlugin({
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          statements++
          return result
        },
      })
      const server = await startTestServer({
        store: { ...store, store: recorded(createStore(counted, { audit: testAuditLogDeps() }), calls) },
        trustedHops: 1,
      })
      try {
        const machine = await addMachine(server)
        const disabled = await addMachine(server)
        const bare = await addMachine(server, { authMethods: ["client_secret_basic"] })
        await server.deps.store.transaction((tx) =>
          tx.serviceAccounts.setStatus(disabled.account.id, "DISABLED", server.deps.clock.nowMs()),
        )
        const suspended = await addMachine(server)
        await server.deps.store.transaction(async (tx) => {
          const id = parseId("prn", suspended.account.principalId)
          if (id) await tx.principals.end(id, "SUSPENDED", Date.now())
        })
        const unknown = { ...machine, account: { ...machine.account, clientId: newId("sac", 5, new Uint8Array(10)) } }
        let networks = 0
        const ask = async (form: Record<string, string>, own: Record<string, string>) => {
          // Each call comes from its own network, because the audit's budget is per network.
          const headers = { ...own, "x-forwarded-for": `198.51.100.${++networks}` }
          calls.length = 0
          statements = 0
          const body = new URLSearchParams({ ...credentials, ...form })
          const response = await fetch(`${server.url}/auth/token`, { method: "POST", body, headers })
          const { trace_id, ...told } = await response.json()
          return {
            status: response.status,
            told,
            statements,
            calls: [...calls],
            challenge: response.headers.get("www-authenticate"),
          }
        }
        const post = ({ account, secret }: Machine) => ({ client_id: account.clientId, client_secret: secret })
        // The first event of a day creates the key that encrypts the networks of that day.
        await ask({}, basic(unknown))
        const bySecret = [
          await ask({}, basic(unknown)),
          await ask({}, basic({ ...machine, secret: disabled.secret })),
          await ask({}, basic(disabled)),
          await ask({}, basic(suspended)),
          await ask(post(bare), {}),
        ]
        const byKey = [
          await ask(assertion(unknown), {}),
          await ask(assertion(machine, { key: disabled.privateKey }), {}),
          await ask(assertion(disabled), {}),
          await ask(assertion(machine, { header: { kid: "nobody" } }), {}),
          await ask(assertion(bare), {}),
        ]
        for (const answers of [bySecret, byKey]) {
          expect(answers[0]).toMatchObject({ status: 401, told: { error: "invalid_client", reason: "CLIENT_INVALID" } })
          expect(answers[0]?.statements).toBeGreaterThan(1)
          expect(answers[0]?.calls).toContain("clients.countAndFind")
          for (const answer of answers) expect(answer).toEqual(answers[0])
        }
        // For an unknown client, the statement reads another client, whose secrets never match.
        for (const other of [machine, bare]) {
          const { client_secret } = post(other)
          const ids = [`${other.account.clientId.slice(0, -1)}`, "", "sac_", `${other.account.clientId}0`, "zzz"]
          for (const client_id of ids.filter(Boolean)) {
            expect(await ask({ client_id, client_secret }, {})).toEqual(bySecret[0])
            const named = { ...other, account: { ...other.account, clientId: client_id } }
            expect(await ask(assertion(named), {})).toEqual(byKey[0])
          }
        }
        // Shows that the counter works: a successful authentication writes.
        expect((await ask({}, basic(machine))).calls).toContain("clients.countAndAppend")
      } finally {
        await server.close()
        await store.close()
      }
    },
  )
})

/** Returns the store with ports that record the name of every call. */
function recorded(store: Store, calls: string[]): Store {
  const recordedPort = <Port extends object>(name: string, port: Port): Port =>
    Object.fromEntries(
      Object.entries(port).map(([verb, call]) => [
        verb,
        (...values: unknown[]) => {
          calls.push(`${name}.${verb}`)
          return (call as (...values: unknown[]) => unknown)(...values)
        },
      ]),
    ) as Port
  const recordedTx = (tx: Tx): Tx =>
    Object.fromEntries(Object.entries(tx).map(([name, port]) => [name, recordedPort(name, port)])) as Tx
  return {
    ...store,
    clients: recordedPort("clients", store.clients),
    transaction: (work) => store.transaction((tx) => work(recordedTx(tx))),
  }
}
