// The guard of the Worker against a stand-in for the auth service: whose tokens it accepts, and for how long.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { newId } from "@signet/kernel/ids"
import { statementClaims } from "@signet/kernel/revocation/statement"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { createIssuer, encode, ids } from "../../guard/testing/issuer.ts"
import { createMessagingGuard } from "./guard.ts"
import { parseSettings } from "./settings.ts"

const access = createIssuer()
const statements = { ...createIssuer(), clock: access.clock }
const { issuer, audience, clock } = access

const state = { isRevoked: false, isFeedUp: true, introspection: "active" as "active" | "inactive" | "down" }
const regions = new Set<string>()
const auth = createServer((request, response) => {
  const keys = { "/.well-known/jwks.json": access.jwk, "/.well-known/statement-keys.json": statements.jwk }
  const key = keys[request.url as keyof typeof keys]
  if (key !== undefined) return void response.end(JSON.stringify({ keys: [key] }))
  const isDown = request.url !== "/auth/token/introspect" || state.introspection === "down"
  if (isDown) return void response.writeHead(503).end()
  const { jti } = access.claims()
  response.end(JSON.stringify(state.introspection === "active" ? { active: true, jti } : { active: false }))
})
beforeAll(() => new Promise<void>((resolve) => void auth.listen(0, "127.0.0.1", resolve)))
afterAll(() => void auth.close())
beforeEach(() => {
  Object.assign(state, { isRevoked: false, isFeedUp: true, introspection: "active" })
})

function statement(): string {
  const entry = { seq: 1, kind: "SESSION", key: ids.session, expiresAtMs: clock.nowMs() + 900_000 } as const
  const entries = state.isRevoked ? [entry] : []
  const head = entries.length
  const of = { issuer, log: "log-a", from: 0, to: head, head, asOfMs: clock.nowMs(), entries }
  return statements.signParts(
    encode({ alg: "ES256", typ: "rev+jwt", kid: statements.jwk.kid }),
    encode(statementClaims(of)),
  )
}

function open(region?: string) {
  const secret = Buffer.alloc(32, 7).toString("base64")
  const { port } = auth.address() as AddressInfo
  return createMessagingGuard({
    settings: parseSettings({
      SIGNET_PROFILE: "development",
      SIGNET_ISSUER: issuer,
      SIGNET_AUTH_URL: `http://127.0.0.1:${port}`,
      SIGNET_MESSAGING_AUDIENCE: audience,
      SIGNET_ROOT_KEY: secret,
      SIGNET_CLIENT_ID: "sva_1",
      SIGNET_CLIENT_SECRET: "secret",
      SIGNET_RECEIPT_KEY: secret,
      SIGNET_SEALING_KEY: secret,
      SIGNET_PEPPERS: `1:${secret}`,
    }),
    keys: { get: async () => null, put: async () => undefined },
    feeds: {
      getByName(name: string) {
        regions.add(name)
        const fetch = async () =>
          state.isFeedUp ? Response.json({ statement: statement() }) : new Response(null, { status: 503 })
        return { fetch }
      },
    } as never,
    client: { token: async () => "own", readText: () => expect.fail("the feed's object reads") },
    clock,
    region,
    report: () => undefined,
  })
}

async function decide(token: string, { guard } = open()): Promise<string> {
  const caller = await guard.authenticate(`Bearer ${token}`)
  const decision = await guard.authorize(caller, { is: "kinds", of: ["USER"] }, {})
  return decision.allow ? "allowed" : decision.reason
}

test.each<[string, object, string]>([
  ["of the messaging audience", {}, "allowed"],
  ["of any app", { app_id: newId("app", 9, new Uint8Array(10)) }, "allowed"],
  ["of the auth service's audience", { aud: "auth" }, "AUDIENCE_MISMATCH"],
  ["of another issuer", { iss: "https://other.example" }, "ISSUER_MISMATCH"],
  ["that has expired", { iat: 1_600_000_000, nbf: 1_600_000_000, exp: 1_600_000_600 }, "TOKEN_EXPIRED"],
])("a token %s, changed by %j, gets: %s", async (_, change, outcome) => {
  expect(await decide(access.token(change))).toBe(outcome)
})

test("a revocation in the feed refuses the session's tokens", async () => {
  state.isRevoked = true
  expect(await decide(access.token())).toBe("SESSION_REVOKED")
})

test("with an outdated feed, the auth service decides, and without its answer the call is refused", async () => {
  const opened = open()
  const token = access.token()
  expect(await decide(token, opened)).toBe("allowed")
  state.isFeedUp = false
  access.pass(61_000)
  const later = (introspection: typeof state.introspection) => {
    state.introspection = introspection
    return decide(token, opened)
  }
  expect(await later("inactive")).toBe("TOKEN_REVOKED")
  expect(await later("down")).toBe("REVOCATION_STATE_STALE")
})

test("each region has its own reader of the feed", async () => {
  regions.clear()
  for (const region of ["eu", undefined]) expect(await decide(access.token(), open(region))).toBe("allowed")
  expect([...regions]).toEqual(["eu", "everywhere"])
})
