// Rate limits of the token endpoint, and guesses at a client's secret.
import { defaultLimits, type Limits, type Window } from "@signet/kernel/limits/policy"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { clientsOver, protocols, refusal } from "../support/clients.ts"
import { addMachine, addPat, addPolicy, basic, type FormAnswer, type Machine, postForm } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const hourly = (limit: number): Window => ({ limit, seconds: 3_600 })
const wide = hourly(100_000)
const limits: Limits = {
  ...defaultLimits,
  windows: {
    ...defaultLimits.windows,
    client_credentials: { ip: wide, client: hourly(2) },
    pat: { ip: wide, pat: hourly(2) },
    on_behalf_of: { actor: hourly(3), pair: hourly(2) },
    introspect: { caller: hourly(2) },
    revoke: { ip: wide },
  },
}
const scopes = ["notes.read", "notes.write", "auth.introspect"]
const slow = [429, "slow_down", "RATE_LIMITED"]
const saidBy = ({ status, body }: FormAnswer) => [status, body.error, body.reason]

describe("the token endpoint", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: storyStore, limits, trustedHops: 1, isClockStopped: true })
  })
  afterAll(() => server.close())

  const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    postForm(`${server.url}/auth/${path}`, form, headers)
  const ask = (machine: Pick<Machine, "account" | "secret">, address = "198.51.100.1") =>
    post(
      "token",
      { grant_type: "client_credentials", audience: "svc-notes" },
      {
        ...basic(machine),
        "x-forwarded-for": address,
      },
    )
  const signedIn = async (subject: string, audiences: string[]) => {
    const { auth } = clientsOver(protocols.gRPC?.(server.url) ?? fail())
    const { accessToken, principal, identity } = await auth.externalLogin({
      ...(await server.login(subject)),
      audiences,
    })
    return { accessToken, principal, identity }
  }

  test("answers slow_down with Retry-After only to the client that called too often", async () => {
    const [busy, other] = [await addMachine(server, { scopes }), await addMachine(server, { scopes })]
    for (const left of [1, 0]) {
      const { status, headers } = await ask(busy)
      expect(status).toBe(200)
      expect(headers.get("ratelimit")).toContain(`"client_credentials-client";r=${left};t=`)
      expect(headers.get("ratelimit-policy")).toContain(`"client_credentials-client";q=2;w=3600`)
    }
    const answer = await ask(busy)
    expect(saidBy(answer)).toEqual(slow)
    const seconds = Number(answer.headers.get("retry-after"))
    expect(seconds).toBeGreaterThan(1_700)
    expect(seconds).toBeLessThanOrEqual(1_800)
    expect([answer.headers.get("cache-control"), answer.headers.get("content-type")]).toEqual([
      "no-store",
      "application/json",
    ])
    expect((await ask(other)).status).toBe(200)
    const { tokens } = clientsOver(protocols.gRPC?.(server.url) ?? fail())
    const byRpc = tokens.token({ grantType: "client_credentials", audience: "svc-notes" }, { headers: basic(busy) })
    expect(await refusal(byRpc)).toBe("ResourceExhausted RATE_LIMITED")
  })

  test("counts the exchanges of each personal access token", async () => {
    const { principal, identity } = await signedIn("pat", [])
    const user = { principalId: principal?.id, identityId: identity?.id } as Parameters<typeof addPat>[1]
    const [busy, other] = [await addPat(server, user), await addPat(server, user)]
    const exchange = (pat: string) => post("token", { grant_type: "pat", pat })
    for (let i = 0; i < 2; i++) expect((await exchange(busy.token)).status).toBe(200)
    expect(saidBy(await exchange(busy.token))).toEqual(slow)
    expect((await exchange(other.token)).status).toBe(200)
  })

  test("counts delegated tokens by service, and by service and user", async () => {
    const machine = await addMachine(server, { scopes, ownedAudiences: ["svc-notes"] })
    await addPolicy(server, machine)
    const users = [
      await signedIn("a", ["svc-notes"]),
      await signedIn("b", ["svc-notes"]),
      await signedIn("c", ["svc-notes"]),
    ]
    const act = (user = 0) =>
      post(
        "token",
        {
          grant_type: "on_behalf_of",
          subject_token: users[user]?.accessToken ?? "",
          subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
          audience: "svc-notes",
          scope: "notes.read",
          job_id: "job-1",
        },
        basic(machine),
      )
    for (let i = 0; i < 2; i++) expect((await act(0)).body).toMatchObject({ token_type: "Bearer" })
    expect(saidBy(await act(0))).toEqual(slow)
    expect((await act(1)).status).toBe(200)
    expect(saidBy(await act(2))).toEqual(slow)
    // Both limits of this user are exceeded now. The answer names the later time, also without counting again.
    for (const _ of [1, 2]) {
      const answer = await act(0)
      expect(saidBy(answer)).toEqual(slow)
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(1_300)
    }
  })

  test("counts contexts for users by service, and by service and user", async () => {
    await server.deps.store.transaction((tx) => tx.apps.putApp({ ...server.app, audiences: ["svc-notes", "svc-mail"] }))
    const machine = await addMachine(server, { scopes, ownedAudiences: ["svc-mail"] })
    const users = [await signedIn("d", ["svc-mail"]), await signedIn("e", ["svc-mail"])]
    const context = (user: number) =>
      post(
        "token",
        {
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          requested_token_type: "urn:signet:params:oauth:token-type:context",
          subject_token: users[user]?.accessToken ?? "",
          subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
        },
        basic(machine),
      )
    for (const user of [0, 0, 1]) expect((await context(user)).body).toMatchObject({ token_type: "N_A" })
    // Refused by both limits: the answer names the later time.
    const both = await context(0)
    expect(saidBy(both)).toEqual(slow)
    expect(Number(both.headers.get("retry-after"))).toBeGreaterThan(1_300)
    const byService = await context(1)
    expect(saidBy(byService)).toEqual(slow)
    expect(Number(byService.headers.get("retry-after"))).toBeLessThan(1_300)
  })

  test("counts introspections by caller", async () => {
    const machine = await addMachine(server, { scopes })
    const introspect = () => post("token/introspect", { token: "x" }, basic(machine))
    for (let i = 0; i < 2; i++) expect((await introspect()).body).toEqual({ active: false })
    expect(saidBy(await introspect())).toEqual(slow)
  })

  describe("during guesses of a secret", () => {
    const wrong = (machine: Machine) => ({
      ...machine,
      secret: machine.secret.slice(0, -1) + (machine.secret.endsWith("x") ? "y" : "x"),
    })

    test.each<[string, (machine: Machine) => Promise<FormAnswer>]>([
      ["for tokens", (machine) => ask(machine)],
      [
        "for introspection",
        (machine) => post("token/introspect", { token: "x" }, { ...basic(machine), "x-forwarded-for": "198.51.100.1" }),
      ],
      [
        "for revocation",
        (machine) => post("token/revoke", { token: "x" }, { ...basic(machine), "x-forwarded-for": "198.51.100.1" }),
      ],
    ])("ten guesses %s are answered, then none for a minute, and no answer tells a right one", async (_, call) => {
      const machine = await addMachine(server, { scopes })
      const guesses = await Promise.all(Array.from({ length: 20 }, () => call(wrong(machine))))
      const statuses = guesses.map(({ status }) => status).toSorted()
      expect(statuses).toEqual([...Array<number>(10).fill(401), ...Array<number>(10).fill(429)])

      const locked = [await call(wrong(machine)), await call(machine)]
      for (const answer of locked) expect(saidBy(answer)).toEqual(slow)
      const visible = locked.map(({ headers, body: { trace_id: _, ...body } }) => [
        body,
        [...headers].filter(([name]) => name !== "date"),
      ])
      expect(visible[0]).toEqual(visible[1])
      server.advance(60_000)
      expect((await call(machine)).status).toBe(200)
    })

    test("the service itself continues from its own address", async () => {
      const machine = await addMachine(server, { scopes })
      for (let i = 0; i < 12; i++) await ask(wrong(machine), "203.0.113.66")
      expect((await ask(machine, "203.0.113.66")).status).toBe(429)
      expect((await ask(machine, "198.51.100.9")).status).toBe(200)
    })

    test("an unknown client is locked like an existing one", async () => {
      const machine = await addMachine(server, { scopes })
      const nobody = { ...machine, account: { ...machine.account, clientId: "sac_nobody" } }
      const statuses = []
      for (let i = 0; i < 12; i++) statuses.push((await ask(nobody)).status)
      expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429])
    })

    test("an assertion with a wrong signature counts as a guess", async () => {
      const machine = await addMachine(server, { scopes })
      const claims = Buffer.from(JSON.stringify({ iss: machine.account.clientId })).toString("base64url")
      const forged = () =>
        post(
          "token",
          {
            grant_type: "client_credentials",
            audience: "svc-notes",
            client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            client_assertion: `e30.${claims}.AAAA`,
          },
          { "x-forwarded-for": "198.51.100.1" },
        )
      for (let i = 0; i < 10; i++) expect((await forged()).status).toBe(401)
      expect((await forged()).status).toBe(429)
      expect((await ask(machine)).status).toBe(429)
    })
  })
})

function fail(): never {
  throw new Error("this should be there")
}
