// Each kind of refused call writes an audit event over each protocol. The event names the owner of the credential and
// the reason, and never contains the credential.
import { budgetWindowMs } from "@signet/kernel/limits/audit-budget"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { Platform } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { addPat, basic } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import { patTokenType, startTokenWorld, type TokenWorld, tokenExchange, type User } from "../support/token-world.ts"

const limits: Limits = {
  windows: { ...defaultLimits.windows, sign_in_options: { ip: { limit: 2, seconds: 3_600 } } },
  lockouts: { ...defaultLimits.lockouts, client: { ...defaultLimits.lockouts.client, failures: 3 } },
}

let world: TokenWorld
beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore, limits })
})
afterAll(() => world?.server.close())

async function rowsOf(kind: string) {
  const rows = await world.server.store.db
    .selectFrom("audit_event")
    .selectAll()
    .where("kind", "=", kind as never)
    .orderBy("id")
    .execute()
  return rows.map((row) => ({
    ...{ outcome: row.outcome, reason: row.reason, route: row.request_route, app: row.app_id },
    ...{ actor: row.actor_principal_id, subject: row.subject_principal_id, session: row.session_id },
    ...{ target: row.target_type === null ? null : `${row.target_type} ${row.target_id}` },
  }))
}

/** Returns the one event of this kind that the call writes. */
async function eventOf(kind: string, expected: string, call: () => Promise<unknown>) {
  const before = (await rowsOf(kind)).length
  expect((await refusal(call())).split(" ")[1]).toBe(expected)
  await expect.poll(async () => (await rowsOf(kind)).length).toBe(before + 1)
  return (await rowsOf(kind)).at(-1)
}

describe.each(Object.entries(protocols))("over %s", (_, transport) => {
  let clients: Clients
  let user: User
  beforeEach(async () => {
    clients = clientsOver(transport(world.server.url))
    // Starts a new window, so that each test has its full budget and limits.
    world.server.advance(Math.max(budgetWindowMs, 3_600_000))
    user = await world.signIn()
  })
  const auth = (name: string) => `signet.auth.v1.${name}`
  const pat = (token: string) =>
    clients.tokens.token({
      ...{ grantType: tokenExchange, subjectTokenType: patTokenType },
      ...{ subjectToken: token, audience: "svc-notes" },
    })

  test("a client that does not prove itself, known or not", async () => {
    const { account } = world.gateway
    const grant = { grantType: "client_credentials", audience: "svc-notes" }
    const kind = "client.authentication_failed"
    const denied = { outcome: "DENIED", reason: "CLIENT_INVALID", route: auth("TokenService/Token"), actor: null }
    const as = (clientId: string, secret: string) => ({ headers: basic({ account: { ...account, clientId }, secret }) })
    const wrong = () => clients.tokens.token(grant, as(account.clientId, world.notes.secret))
    const target = `service_account ${account.id}`
    expect(await eventOf(kind, "CLIENT_INVALID", wrong)).toMatchObject({ ...denied, target, app: account.appId })
    const unknown = () => clients.tokens.token(grant, as("nobody", world.notes.secret))
    expect(await eventOf(kind, "CLIENT_INVALID", unknown)).toMatchObject({ ...denied, target: null, app: null })
    const none = () => clients.tokens.introspect({ token: "x" })
    const route = auth("TokenService/Introspect")
    expect(await eventOf(kind, "CLIENT_INVALID", none)).toMatchObject({ ...denied, target: null, route })
  })

  test("a bearer token for another audience, and one whose session has ended", async () => {
    const me = (token = "") => clients.auth.me({}, bearer(token))
    const of = { outcome: "DENIED", actor: user.principalId, route: auth("AuthService/Me") }
    const elsewheres = await eventOf("authz.denied", "AUDIENCE_MISMATCH", () => me(user.tokens["svc-notes"]))
    expect(elsewheres).toMatchObject({ ...of, reason: "AUDIENCE_MISMATCH", subject: user.principalId })
    await clients.auth.logout({}, bearer(user.tokens.auth ?? ""))
    const ended = await eventOf("authz.denied", "SESSION_REVOKED", () => me(user.tokens.auth))
    expect(ended).toMatchObject({ ...of, reason: "SESSION_REVOKED" })
    expect(ended?.session).toMatch(/^ses_/)
  })

  test("refusals of ordinary use are not audited", async () => {
    const before = (await rowsOf("authz.denied")).length
    expect(await refusal(clients.auth.me({}))).toBe("Unauthenticated NO_CREDENTIAL")
    world.server.advance(3_600_000)
    expect(await refusal(clients.auth.me({}, bearer(user.tokens.auth ?? "")))).toBe("Unauthenticated TOKEN_EXPIRED")
    // The next denial is audited, and it is the only one.
    await eventOf("authz.denied", "SIGNATURE_INVALID", () =>
      clients.auth.me({}, bearer(`${user.tokens.auth?.slice(0, -4)}AAAA`)),
    )
    expect(await rowsOf("authz.denied")).toHaveLength(before + 1)
  })

  test("a refused refresh token: a malformed one, and one of an ended session", async () => {
    const kind = "session.refresh_rejected"
    const refresh = (refreshToken: string) => () => clients.auth.refresh({ refreshToken })
    const of = { outcome: "DENIED", reason: "REFRESH_TOKEN_INVALID", route: auth("AuthService/Refresh"), actor: null }
    const garbage = await eventOf(kind, "REFRESH_TOKEN_INVALID", refresh("garbage"))
    expect(garbage).toMatchObject({ ...of, subject: null, session: null })
    await clients.auth.logout({ refreshToken: user.refreshToken })
    const ended = await eventOf(kind, "REFRESH_TOKEN_INVALID", refresh(user.refreshToken))
    expect(ended).toMatchObject({ ...of, subject: user.principalId })
    expect(ended?.session).toMatch(/^ses_/)
  })

  test("a refused personal access token: a malformed one, and a revoked one", async () => {
    const kind = "pat.rejected"
    const of = { outcome: "DENIED", reason: "PAT_INVALID", route: auth("TokenService/Token"), actor: null }
    const garbage = await eventOf(kind, "PAT_INVALID", () => pat("sgpat_garbage"))
    expect(garbage).toMatchObject({ ...of, subject: null, target: null })
    const revoked = { revokedAtMs: world.server.deps.clock.nowMs(), revokeReason: "REVOKED" } as const
    const own = await addPat(world.server, user, revoked)
    const told = await eventOf(kind, "PAT_INVALID", () => pat(own.token))
    expect(told).toMatchObject({ ...of, subject: user.principalId, target: `pat ${own.pat.id}` })
  })

  test("a cookie call from a page of another origin", async () => {
    const appId = world.server.app.id
    const cookie = `__Host-sgrt-${appId}=${user.refreshToken}`
    const headers = { cookie, origin: "https://evil.example", "x-signet-client": "web" }
    const event = await eventOf("cookie.origin_rejected", "ORIGIN_NOT_ALLOWED", () =>
      clients.auth.refresh({ appId }, { headers }),
    )
    const route = auth("AuthService/Refresh")
    expect(event).toMatchObject({ outcome: "DENIED", reason: "ORIGIN_NOT_ALLOWED", app: appId, actor: null, route })
  })

  test("an exceeded limit: one event, and one with the count of the other refusals", async () => {
    const list = () => clients.auth.listSignInOptions({ appId: world.server.app.id, platform: Platform.WEB })
    for (let i = 0; i < 2; i++) await list()
    const event = await eventOf("ratelimit.exceeded", "RATE_LIMITED", list)
    const route = auth("AuthService/ListSignInOptions")
    expect(event).toMatchObject({ outcome: "DENIED", reason: "RATE_LIMITED", target: "rate_limit sign_in_options.ip" })
    const [events, counts] = [(await rowsOf("ratelimit.exceeded")).length, (await rowsOf("audit.counted")).length]
    for (let i = 0; i < 4; i++) expect(await refusal(list())).toBe("ResourceExhausted RATE_LIMITED")
    world.server.advance(budgetWindowMs)
    await world.server.deps.refusals.flush()
    expect(await rowsOf("ratelimit.exceeded")).toHaveLength(events)
    const counted = (await rowsOf("audit.counted")).slice(counts)
    expect(counted).toMatchObject([{ reason: "RATE_LIMITED", route, target: "events_not_written 4" }])
  })

  test("the lock of a client after failed guesses", async () => {
    const grant = { grantType: "client_credentials", audience: "svc-notes" }
    const { account } = world.stranger
    const guess = () => clients.tokens.token(grant, { headers: basic({ account, secret: world.notes.secret }) })
    for (let i = 0; i < 3; i++) expect(await refusal(guess())).toBe("Unauthenticated CLIENT_INVALID")
    const event = await eventOf("ratelimit.locked_out", "RATE_LIMITED", guess)
    expect(event).toMatchObject({ outcome: "DENIED", reason: "RATE_LIMITED", target: "lockout client", actor: null })
  })

  test("no event contains a credential", async () => {
    const rows = JSON.stringify(await world.server.store.db.selectFrom("audit_event").selectAll().execute())
    for (const secret of [user.refreshToken, user.tokens.auth ?? "", world.gateway.secret, world.notes.secret]) {
      expect(rows).not.toContain(secret)
    }
  })
})
