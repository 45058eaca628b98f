import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { create, toBinary } from "@bufbuild/protobuf"
import { errorToJson } from "@connectrpc/connect/protocol-connect"
import { connectErrorOf } from "@signet/guard/errors"
import { createServiceToken } from "@signet/guard/service-token"
import { type Reason, Refused } from "@signet/kernel/errors"
import { AuthorityService, GetSessionResponseSchema } from "@signet/proto/authority/v1/authority_service"
import { beforeEach, expect, onTestFinished, test } from "vitest"
import { type CallAuth, createCallAuth } from "./call.ts"

type Answer = () => Response | Promise<Response>

let answers: Answer[]
let tokens: string[]
let clock: { ms: number; nowMs(): number }
let call: CallAuth
beforeEach(() => {
  answers = []
  tokens = []
  clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
  let issued = 0
  const fetcher = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    if (String(input).endsWith("/auth/token")) {
      return Response.json({ access_token: `token ${++issued}`, expires_in: 600 })
    }
    expect(String(input)).toBe("https://auth.example/signet.authority.v1.AuthorityService/GetSession")
    tokens.push(new Headers(init.headers).get("authorization") ?? "")
    return (answers.shift() ?? expect.fail)()
  }
  const asking = { audience: "auth", scope: "auth.messaging.backend", fetch: fetcher, clock }
  const account = { clientId: "sac_1", clientSecret: "sgsec_1" }
  const token = createServiceToken({ url: "https://auth.example/auth/token", ...account, ...asking })
  call = createCallAuth({ url: "https://auth.example", token, fetch: fetcher })
})

const session: Answer = () =>
  new Response(toBinary(GetSessionResponseSchema, create(GetSessionResponseSchema, { state: 1 })).slice())
const refused = (reason: Reason, metadata: Record<string, string> = {}): Answer => {
  const error = new Refused(reason, { metadata })
  return () => Response.json(errorToJson(connectErrorOf(error), undefined), { status: error.status })
}
const ask = () => call(AuthorityService.method.getSession, { sessionId: `ses_${"0".repeat(26)}` })

test("concurrent calls share one token, which is used until shortly before its expiry", async () => {
  answers = [session, session, session, session]
  await Promise.all([ask(), ask(), ask()])
  clock.ms += 569_000
  await ask()
  clock.ms += 2_000
  answers = [session]
  await ask()
  expect(tokens).toEqual([...Array(4).fill("Bearer token 1"), "Bearer token 2"])
})

test("a rejected token is renewed once", async () => {
  answers = [refused("TOKEN_REVOKED"), session]
  expect((await ask()).state).toBe(1)
  expect(tokens).toEqual(["Bearer token 1", "Bearer token 2"])
  answers = [refused("TOKEN_REVOKED"), refused("TOKEN_REVOKED")]
  await expect(ask()).rejects.toMatchObject({ reason: "UNAVAILABLE" })
})

test.each<[string, Answer, Reason]>([
  [
    "a refused caller gets the reason",
    refused("CALLER_REFUSED", { caller_reason: "SESSION_REVOKED" }),
    "SESSION_REVOKED",
  ],
  [
    "an unknown caller_reason is not forwarded",
    refused("CALLER_REFUSED", { caller_reason: "toString" }),
    "UNAVAILABLE",
  ],
  [
    "a device's own error is forwarded",
    refused("CREDENTIAL_INVALID", { code: "REQUEST_EXPIRED" }),
    "CREDENTIAL_INVALID",
  ],
  ["NOT_FOUND is forwarded", refused("NOT_FOUND"), "NOT_FOUND"],
  ["a refused scope of the backend is its own fault", refused("NOT_THE_CALLERS"), "INTERNAL"],
  ["an invalid request of the backend is its own fault", refused("INVALID_FIELD"), "INTERNAL"],
  ["an account without its scope is UNAVAILABLE", refused("MISSING_SCOPE"), "UNAVAILABLE"],
  ["a rate limit is forwarded", refused("RATE_LIMITED", { retry_after: "5" }), "RATE_LIMITED"],
  ["a proxy's page is UNAVAILABLE", () => new Response("<html>", { status: 502 }), "UNAVAILABLE"],
  [
    "a redirect is UNAVAILABLE",
    () => new Response(null, { status: 302, headers: { location: "https://other.example" } }),
    "UNAVAILABLE",
  ],
  ["another message is UNAVAILABLE", () => new Response(new Uint8Array([255, 255, 255])), "UNAVAILABLE"],
  ["a network failure is UNAVAILABLE", () => Promise.reject(new TypeError("fetch failed")), "UNAVAILABLE"],
])("%s", async (_, answer, reason) => {
  answers = [answer]
  const error = await ask().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Refused)
  expect(error).toMatchObject({ reason })
  // The auth service's text is in the cause, for the operator, and not in the message.
  expect(JSON.stringify(error)).not.toContain("sgsec_")
})

test("a redirect is not followed: no other server sees the request", async () => {
  const serve = async (listener: RequestListener) => {
    const server = createServer(listener)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const seen: (string | undefined)[] = []
  const other = await serve(({ url }, response) => {
    seen.push(url)
    response.end()
  })
  const auth = await serve((_, response) => response.writeHead(307, { location: `${other}/elsewhere` }).end())
  call = createCallAuth({ url: auth, token: async () => "token", fetch })
  await expect(ask()).rejects.toMatchObject({ reason: "UNAVAILABLE" })
  expect(seen).toEqual([])
})
