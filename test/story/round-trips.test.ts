// The number of database round trips of the most frequent calls, which dominates their cost.
import { afterAll, beforeAll, expect, test } from "vitest"
import { linkPending } from "../../server/store/postgres/audit/audit-chain.ts"
import { testSeals } from "../support/audit-log-deps.ts"
import { type Clients, clientsOver, protocols } from "../support/clients.ts"
import { addMachine, assertion, basic, type Machine, postForm } from "../support/machines.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"
import { roundTrips } from "../support/statements.ts"

describeOnPostgres("round trips to the database", () => {
  let server: TestServer
  let notes: Machine
  let machine: Machine
  let clients: Clients
  beforeAll(async () => {
    server = await startTestServer({ store: "postgres" })
    notes = await addMachine(server, { ownedAudiences: ["svc-notes"], scopes: ["auth.introspect", "notes.read"] })
    machine = await addMachine(server)
    clients = clientsOver(protocols.gRPC?.(server.url) ?? expect.unreachable())
  })
  afterAll(() => server?.close())

  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const answer = await postForm(`${server.url}/auth/${path}`, form, headers)
    expect(answer.status).toBe(200)
    return answer.body
  }
  const grant = { grant_type: "client_credentials", audience: "svc-notes" }
  const token = () => post("token", grant, basic(machine))

  test("a client's own token", async () => {
    expect(await roundTrips(token)).toHaveLength(1)
  })

  test("a token, and the link of its event", async () => {
    const { db } = server.store
    const work = async () => {
      await token()
      await linkPending(db, testSeals, Date.now)
    }
    expect(await roundTrips(work)).toHaveLength(1 + 4)
  })

  test("a client's own token, by assertion", async () => {
    expect(await roundTrips(() => post("token", { ...grant, ...assertion(machine) }))).toHaveLength(3)
  })

  test("an introspection", async () => {
    const { access_token } = await token()
    const ask = () => post("token/introspect", { token: String(access_token) }, basic(notes))
    expect(await roundTrips(ask)).toHaveLength(1)
  })

  test("a sign-in of an existing user", async () => {
    const signIn = async () => clients.auth.externalLogin(await server.login("ada"))
    await signIn()
    expect(await roundTrips(signIn)).toHaveLength(3)
  })

  test("a refresh", async () => {
    let { refreshToken } = await clients.auth.externalLogin(await server.login("bob"))
    const refresh = async () => {
      refreshToken = (await clients.auth.refresh({ refreshToken })).refreshToken
    }
    await refresh()
    expect(await roundTrips(refresh)).toHaveLength(2)
  })
})
