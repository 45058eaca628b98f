import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { expect, test } from "vitest"
import { answered, checkTokens, createAuthClient, present, type Tokens } from "./auth-calls.ts"
import { SignetError } from "./errors.ts"
import { rest } from "./rest.ts"
import { memoryBox, memoryPlatforms, testClock } from "./testing/memory-platform.ts"

/** A service that refreshes the session of the presented cookie or token, whichever it is. */
function worldOf(place: "cookie" | "box", sessionId: string) {
  const loggedOut: string[] = []
  const wire = () =>
    createRouterTransport((router) => {
      router.service(AuthService, {
        refresh: ({ refreshToken }) => ({
          accessTokens: { auth: "token" },
          expiresIn: 600,
          refreshToken: refreshToken && "next",
          session: { id: sessionId },
        }),
        logout({ appId }) {
          loggedOut.push(appId)
          return {}
        },
      })
    })
  const refreshToken = place === "cookie" ? ({ in: place } as const) : ({ in: place, box: memoryBox() } as const)
  const client = createAuthClient(
    "https://auth.example",
    memoryPlatforms({ clock: testClock(), wire }).tab({ refreshToken }),
  )
  const user = { sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" }
  const record = {
    user: { ...user, primaryEmail: undefined, tenantId: undefined, contextId: undefined },
    ...{ refreshToken: place === "box" ? "r" : undefined, retryKey: "k", generation: 1, tokensGoodUntilMs: 0 },
  }
  return { loggedOut, refreshed: present(client, { appId: "app_1", record, audiences: ["auth"] }) }
}

test.each(["cookie", "box"] as const)("a refresh of the stored session returns its tokens (%s)", async (place) => {
  const { refreshed, loggedOut } = worldOf(place, "ses_1")
  expect((await refreshed).accessTokens).toEqual({ auth: "token" })
  expect(loggedOut).toEqual([])
})

test("a refresh by token is of that token's session, whatever session the answer names", async () => {
  expect((await worldOf("box", "ses_2").refreshed).refreshToken).toBe("next")
})

test("a cookie of another sign-in returns no tokens, and its session is ended", async () => {
  const { refreshed, loggedOut } = worldOf("cookie", "ses_2")
  await expect(refreshed).rejects.toMatchObject({ reason: "REFRESH_TOKEN_INVALID" })
  expect(loggedOut).toEqual(["app_1"])
})

const places = { cookie: { in: "cookie" }, box: { in: "box", box: memoryBox() } } as const

test.each([
  ["cookie", "include", "web", { appId: "app_1", retryKey: "k", audiences: ["auth"] }],
  ["box", "omit", null, { refreshToken: "r", retryKey: "k", audiences: ["auth"] }],
] as const)("a refresh by %s carries that and no other credential", async (place, credentials, marker, body) => {
  const seen: RequestInit[] = []
  const platform = memoryPlatforms({ clock: testClock(), wire: rest }).tab({
    refreshToken: places[place],
    async fetch(_, init) {
      seen.push(init ?? {})
      const refreshToken = place === "box" ? "next" : undefined
      return Response.json({ accessTokens: { auth: "t" }, expiresIn: 600, refreshToken, session: { id: "ses_1" } })
    },
  })
  const user = { sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" }
  const none = { primaryEmail: undefined, tenantId: undefined, contextId: undefined }
  const kept = { refreshToken: place === "box" ? "r" : undefined, retryKey: "k", generation: 1, tokensGoodUntilMs: 0 }
  const record = { user: { ...user, ...none }, ...kept }
  const client = createAuthClient("https://auth.example", platform)
  const { refreshToken } = await present(client, { appId: "app_1", record, audiences: ["auth"] })
  expect(refreshToken).toBe(place === "box" ? "next" : undefined)
  const [request] = seen
  expect([request?.credentials, new Headers(request?.headers).get("x-signet-client")]).toEqual([credentials, marker])
  expect(JSON.parse(new TextDecoder().decode(new Uint8Array(await new Response(request?.body).arrayBuffer())))).toEqual(
    body,
  )
})

test.each<["cookie" | "box", string, Partial<Tokens>]>([
  ["box", "that have ended", { expiresIn: 0 }],
  ["box", "that are none", { accessTokens: {} }],
  ["box", "without a refresh token", { refreshToken: "" }],
  ["cookie", "with a refresh token beside the cookie", { refreshToken: "r" }],
])("a %s lives on no tokens %s", (place, _, change) => {
  const platform = memoryPlatforms({ clock: testClock(), wire: rest }).tab({ refreshToken: places[place] })
  const client = createAuthClient("https://auth.example", platform)
  const good: Tokens = { refreshToken: place === "box" ? "r" : "", accessTokens: { auth: "t" }, expiresIn: 1 }
  expect(checkTokens(client, good)).toEqual({ ...good, refreshToken: place === "box" ? "r" : undefined })
  const invalid = expect.objectContaining({ reason: "ANSWER_INVALID" })
  expect(() => checkTokens(client, { ...good, ...change })).toThrow(invalid)
})

const refused = new ConnectError("refused", Code.Unauthenticated)
refused.details.push({ desc: ErrorInfoSchema, value: { reason: "SESSION_REVOKED", domain: "signet" } })

test.each<[string, unknown, string]>([
  ["the service's refusal", refused, "SESSION_REVOKED"],
  ["a canceled call", new ConnectError("off", Code.Canceled), "CANCELED"],
  ["a proxy's answer", new ConnectError("no", Code.Unauthenticated), "UNREACHABLE"],
  ["no answer", new TypeError("fetch failed"), "UNREACHABLE"],
])("%s has its own reason", async (_, error, reason) => {
  await expect(answered(Promise.reject(error))).rejects.toMatchObject({ name: "SignetError", reason })
})

test("a SignetError is rethrown unchanged", async () => {
  const error = new SignetError("LOCK_BUSY", "busy")
  await expect(answered(Promise.reject(error))).rejects.toBe(error)
  expect(await answered(Promise.resolve(1))).toBe(1)
})
