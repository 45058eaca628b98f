import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { AccountService } from "@signet/proto/auth/v1/account_service"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { AuditService } from "@signet/proto/auth/v1/audit_service"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { Provider } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"
import { Health } from "@signet/proto/grpc/health/v1/health"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { describe, expect, test } from "vitest"
import { failureOf } from "./errors.ts"
import { rest } from "./rest.ts"
import { restRequest } from "./rest-request.ts"

const request = <D extends (typeof AuthService.method)[keyof typeof AuthService.method]>(
  method: D,
  message: MessageInitShape<D["input"]>,
) => restRequest(method, create(method.input, message))

describe("a message becomes a request", () => {
  test("with a body that has no field of the path, on the path of its enum's value", () => {
    const { externalLogin } = AuthService.method
    const of = (provider: Provider) =>
      request(externalLogin, { appId: "a", provider, credential: { case: "idToken", value: "t" } })
    expect(of(Provider.IDP_A)).toEqual({
      verb: "POST",
      target: "/auth/login/idp-a",
      contentType: "application/json",
      body: '{"appId":"a","idToken":"t"}',
    })
    expect(of(Provider.IDP_B).target).toBe("/auth/login/idp-b")
    expect(of(Provider.IDP_C).target).toBe("/auth/login/idp-c")
    expect(() => of(Provider.PROVIDER_UNSPECIFIED)).toThrow(/no REST path/)
  })

  test("with a query if there is no body, without absent fields", () => {
    const { listSessions } = SessionService.method
    const of = (message: MessageInitShape<typeof listSessions.input>) =>
      restRequest(listSessions, create(listSessions.input, message))
    expect(of({}).target).toBe("/auth/session/sessions")
    expect(of({ pageSize: 7, pageToken: "a b&c" })).toMatchObject({
      verb: "GET",
      target: "/auth/session/sessions?pageSize=7&pageToken=a+b%26c",
      body: undefined,
    })
  })

  test("with a query that repeats the name of a list", () => {
    const { listAuditEvents } = AuditService.method
    const message = create(listAuditEvents.input, { kinds: ["a.b", "c d"], pageSize: 1 })
    expect(restRequest(listAuditEvents, message).target).toMatch(/[?&]kinds=a\.b&kinds=c\+d(&|$)/)
  })

  test("with an escaped id in the path, before a custom verb", () => {
    const { leaveMembership } = AccountService.method
    const { target } = restRequest(leaveMembership, create(leaveMembership.input, { membershipId: "a/../b?c" }))
    expect(target).toBe("/auth/account/memberships/a%2F..%2Fb%3Fc:leave")
  })

  test.each(["", ".", ".."])("never with the id %j, which would be the path of another call", (appId) => {
    const { getApp } = AppAuthService.method
    expect(() => restRequest(getApp, create(getApp.input, { appId }))).toThrow(
      expect.objectContaining({ code: Code.InvalidArgument }),
    )
    const { target } = restRequest(getApp, create(getApp.input, { appId: `a${appId}` }))
    expect(new URL(target, "https://a").pathname).toBe(target)
  })

  test("with bytes in the path as base64url without padding", () => {
    const { readChunk } = ArchiveService.method
    const message = create(readChunk.input, { archiveId: new Uint8Array(16).fill(0xff), index: 3 })
    expect(restRequest(readChunk, message).target).toBe("/security/archives/_____________________w/chunks/3")
  })

  test("as a form for methods with forms", () => {
    const { token } = TokenService.method
    const { contentType, body } = restRequest(token, create(token.input, { grantType: "pat", pat: "a&b" }))
    expect([contentType, body]).toEqual(["application/x-www-form-urlencoded", "grant_type=pat&pat=a%26b"])
  })

  test("not at all without a path in the contract", async () => {
    const health = createClient(Health, rest({ baseUrl: "https://a" }))
    await expect(health.check({})).rejects.toMatchObject({ code: Code.Unimplemented })
    await expect(health.watch({})[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: Code.Unimplemented })
  })
})

describe("an answer", () => {
  const call = (response: () => Response | Promise<Response>, options = {}) => {
    const seen: RequestInit[] = []
    const transport = rest({
      baseUrl: "https://a",
      async fetch(_, init) {
        seen.push(init ?? {})
        const ends = new Promise<never>((_, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason))
        })
        return Promise.race([response(), ends])
      },
    })
    return { seen, answer: createClient(AuthService, transport).me({}, options) }
  }
  const failed = (response: () => Response | Promise<Response>, options = {}) =>
    call(response, options).answer.then(
      () => undefined,
      (error: unknown) => ConnectError.from(error),
    )

  test("is parsed with unknown fields of a later service", async () => {
    const { answer, seen } = call(() => Response.json({ identity: { id: "idn_1", later: 1 }, later: [] }))
    expect((await answer).identity?.id).toBe("idn_1")
    expect(seen[0]).toMatchObject({ method: "GET", redirect: "error" })
  })

  test("without a body is an empty message", async () => {
    expect((await call(() => new Response(null, { status: 204 })).answer).identity).toBeUndefined()
  })

  test("of a refusal has its reason, metadata and field violations", async () => {
    const problem = {
      reason: "INVALID_FIELD",
      domain: "signet",
      detail: "a field is wrong",
      metadata: { field: "email" },
      errors: [{ field: "email", detail: "too long" }],
    }
    const error = await failed(() => Response.json(problem, { status: 400, headers: { "retry-after": "3" } }))
    expect(failureOf(error)).toMatchObject({
      reason: "INVALID_FIELD",
      code: Code.InvalidArgument,
      metadata: { field: "email" },
      retryAfterMs: 3_000,
    })
    expect(error?.findDetails(BadRequestSchema)[0]?.fieldViolations).toMatchObject([{ field: "email" }])
    expect(error?.rawMessage).toBe("a field is wrong")
  })

  test.each([
    ["a portal's page", new Response("<html>", { status: 401 }), Code.Unauthenticated],
    ["a page with status 200", new Response("<html>"), Code.Internal],
    ["a portal's empty page", new Response(""), Code.Internal],
    ["a gateway's", Response.json({ reason: 5 }, { status: 502 }), Code.Unavailable],
  ])("of another server is no refusal: %s", async (_, response, code) => {
    const error = await failed(() => response)
    expect([error?.code, failureOf(error)]).toEqual([code, undefined])
  })

  test.each<[string, object, string[]]>([
    ["a domain that is a number", { reason: "MISSING_SCOPE", domain: 5 }, []],
    ["an empty domain", { reason: "MISSING_SCOPE", domain: "" }, []],
    ["another domain", { reason: "MISSING_SCOPE", domain: "example.com" }, ["example.com"]],
  ])("of a refusal with %s has no reason of the service", async (_, body, domains) => {
    const error = await failed(() => Response.json(body, { status: 403 }))
    expect([error?.code, failureOf(error)]).toEqual([Code.PermissionDenied, undefined])
    expect(error?.findDetails(ErrorInfoSchema).map(({ domain }) => domain)).toEqual(domains)
  })

  test("with a status that has no code is unknown below 500, and otherwise unavailable", async () => {
    const codes = [418, 421, 502, 520].map(async (status) => (await failed(() => new Response("", { status })))?.code)
    expect(await Promise.all(codes)).toEqual([Code.Unknown, Code.Unknown, Code.Unavailable, Code.Unavailable])
  })

  test("of a refusal has its details, without those that cannot be read", async () => {
    const value = Buffer.from(toBinary(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: { seconds: 3n } })))
    const retry = { type: RetryInfoSchema.typeName, value: value.toString("base64") }
    const details = [{ ...retry, type: 5 }, { ...retry, value: undefined }, { value: "" }, null, retry]
    const error = await failed(() => Response.json({ reason: "RATE_LIMITED", details }, { status: 429 }))
    expect(failureOf(error)).toMatchObject({ reason: "RATE_LIMITED", retryAfterMs: 3_000 })
    expect(error?.details).toHaveLength(2)
  })

  test.each([0, -1])("has no limit with a timeout of %i", async (timeoutMs) => {
    const { answer, seen } = call(() => Response.json({}), { timeoutMs })
    await answer
    expect(seen[0]?.signal).toBeUndefined()
    expect(new Headers(seen[0]?.headers).has("connect-timeout-ms")).toBe(false)
  })

  test("that does not arrive is UNREACHABLE, with its cause", async () => {
    const never = () => new Promise<Response>(() => {})
    expect((await failed(() => Promise.reject(new TypeError("fetch failed"))))?.code).toBe(Code.Unavailable)
    expect((await failed(never, { timeoutMs: 5 }))?.code).toBe(Code.DeadlineExceeded)
    const stop = new AbortController()
    const stopped = failed(never, { signal: stop.signal })
    stop.abort()
    expect((await stopped)?.code).toBe(Code.Canceled)
  })
})
