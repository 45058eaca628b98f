import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt"
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createClient,
  createRouterTransport,
  type HandlerContext,
  type Transport,
} from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import { ServerReflection } from "@signet/proto/grpc/reflection/v1/reflection"
import { describe, expect, test } from "vitest"
import type { AccessToken } from "./access-tokens.ts"
import { SignetError } from "./errors.ts"
import { testClock } from "./testing/memory-platform.ts"
import { createSessionTransport } from "./transport.ts"

function refusal(code: Code, reason: string, retrySeconds?: number): ConnectError {
  const error = new ConnectError("refused", code)
  error.details.push({ desc: ErrorInfoSchema, value: { reason, domain: "signet" } })
  if (retrySeconds !== undefined) {
    error.details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(retrySeconds) } } })
  }
  return error
}

/** A session with numbered tokens, and a service with the given answers, then "yes". */
function worldOf(...answers: (ConnectError | "yes")[]) {
  const clock = testClock()
  const seen: string[] = []
  let tokens = 1
  const hear = ({ requestHeader }: HandlerContext) => {
    seen.push(requestHeader.get("authorization") ?? "none")
    const answer = answers.shift() ?? "yes"
    if (answer !== "yes") throw answer
  }
  const routes = (router: ConnectRouter) =>
    router
      .service(AuthService, {
        me: (_, context) => {
          hear(context)
          return {}
        },
        logoutAll: (_, context) => {
          hear(context)
          return {}
        },
      })
      .service(Health, {
        async *watch(_, context) {
          hear(context)
          yield { status: Status.SERVING }
          hear(context)
          yield { status: Status.NOT_SERVING }
        },
      })
  const refused: (AccessToken | undefined)[] = []
  const tokenOf = (number: number) => ({ token: `t${number}`, generation: number, sinceMs: 0, goodUntilMs: 1e15 })
  const transport = createSessionTransport({
    inner: createRouterTransport(routes),
    clock,
    async token(stale) {
      refused.push(stale)
      return tokenOf(stale === undefined ? tokens : ++tokens)
    },
  })
  return { clock, seen, refused, auth: createClient(AuthService, transport), health: createClient(Health, transport) }
}
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => "none",
    (error: unknown) => {
      const found = ConnectError.from(error)
      return found.findDetails(ErrorInfoSchema)[0]?.reason ?? Code[found.code]
    },
  )
const stale = () => refusal(Code.Unauthenticated, "PERMISSIONS_STALE")

describe("a call", () => {
  test("carries the token", async () => {
    const { auth, seen } = worldOf()
    await auth.me({})
    expect(seen).toEqual(["Bearer t1"])
  })

  test.each([
    ["an old token", "TOKEN_EXPIRED"],
    ["old permissions", "PERMISSIONS_STALE"],
    ["a replaced session", "SESSION_REVOKED"],
  ])("that is refused for %s is retried once with another token, even if it is not idempotent", async (_, reason) => {
    const { auth, seen } = worldOf(refusal(Code.Unauthenticated, reason))
    await auth.logoutAll({})
    expect(seen).toEqual(["Bearer t1", "Bearer t2"])
  })

  test("that is refused twice is refused", async () => {
    const { auth, seen } = worldOf(stale(), stale())
    expect(await reasonOf(auth.me({}))).toBe("PERMISSIONS_STALE")
    expect(seen).toEqual(["Bearer t1", "Bearer t2"])
  })

  test("that another vendor's service refuses with a bare 401 is retried once", async () => {
    const { auth, seen } = worldOf(new ConnectError("who?", Code.Unauthenticated))
    await auth.me({})
    expect(seen).toHaveLength(2)
  })

  test.each([
    [Code.Unauthenticated, "AUDIENCE_MISMATCH"],
    [Code.Unauthenticated, "PRINCIPAL_INACTIVE"],
    [Code.PermissionDenied, "MISSING_SCOPE"],
    [Code.PermissionDenied, "STEP_UP_REQUIRED"],
  ])("that no other token would change is refused at once (%s %s)", async (code, reason) => {
    const { auth, seen } = worldOf(refusal(code, reason))
    expect(await reasonOf(auth.me({}))).toBe(reason)
    expect(seen).toHaveLength(1)
  })

  test("waits once as long as a rate limit demands", async () => {
    const limited = () => refusal(Code.ResourceExhausted, "RATE_LIMITED", 3)
    const { auth, seen, clock } = worldOf(limited(), limited())
    const reason = reasonOf(auth.logoutAll({}))
    await clock.pass(2_999)
    expect(seen).toHaveLength(1)
    await clock.pass(1)
    expect(await reason).toBe("RATE_LIMITED")
    expect(seen).toHaveLength(2)
  })

  test("is retried on an unavailable service only if it has no effects", async () => {
    const away = () => refusal(Code.Unavailable, "UNAVAILABLE", 1)
    const reads = worldOf(away())
    const read = reads.auth.me({})
    await reads.clock.pass(1_000)
    await read
    const writes = worldOf(away())
    expect(await reasonOf(writes.auth.logoutAll({}))).toBe("UNAVAILABLE")
    expect(writes.seen).toHaveLength(1)
  })

  test("waits at most until its deadline, and at most half a minute", async () => {
    const limited = worldOf(refusal(Code.ResourceExhausted, "RATE_LIMITED", 3))
    expect(await reasonOf(limited.auth.me({}, { timeoutMs: 2_000 }))).toBe("RATE_LIMITED")
    const long = worldOf(refusal(Code.ResourceExhausted, "RATE_LIMITED", 31))
    expect(await reasonOf(long.auth.me({}))).toBe("RATE_LIMITED")
  })

  test("that is canceled while it waits ends at once", async () => {
    const { auth, clock } = worldOf(refusal(Code.ResourceExhausted, "RATE_LIMITED", 3))
    const stop = new AbortController()
    const reason = reasonOf(auth.me({}, { signal: stop.signal }))
    await clock.pass(1)
    stop.abort()
    expect(await reason).toBe("Canceled")
  })

  test.each([
    ["called off", "Canceled"],
    ["late", "DeadlineExceeded"],
  ])("that is %s does not wait for a token", async (how, code) => {
    const clock = testClock()
    const transport = createSessionTransport({
      inner: createRouterTransport(() => {}),
      clock,
      token: () => new Promise(() => {}),
    })
    const stop = new AbortController()
    const reason = reasonOf(createClient(AuthService, transport).me({}, { signal: stop.signal, timeoutMs: 500 }))
    await clock.pass(how === "late" ? 500 : 1)
    if (how !== "late") stop.abort()
    expect(await reason).toBe(code)
  })

  test("whose deadline passed while the token was fetched is not sent", async () => {
    const clock = testClock()
    let isMade = false
    const transport = createSessionTransport({
      inner: createRouterTransport((router) => {
        router.service(AuthService, {
          me: () => {
            isMade = true
            return {}
          },
        })
      }),
      clock,
      async token() {
        clock.jump(500)
        return { token: "t", generation: 1, sinceMs: 0, goodUntilMs: 1e15 }
      },
    })
    const auth = createClient(AuthService, transport)
    expect(await reasonOf(auth.me({}, { timeoutMs: 500 }))).toBe("DeadlineExceeded")
    expect(isMade).toBe(false)
    await auth.me({}, { timeoutMs: 0 })
    expect(isMade).toBe(true)
  })

  test("without a session fails locally", async () => {
    const transport = createSessionTransport({
      inner: createRouterTransport(() => {}),
      clock: testClock(),
      token: () => Promise.reject(new SignetError("NOT_SIGNED_IN", "nobody is signed in")),
    })
    const error = await createClient(AuthService, transport).me({}).catch(ConnectError.from)
    expect(error).toMatchObject({ code: Code.Unauthenticated, cause: { reason: "NOT_SIGNED_IN" } })
  })

  test("is not retried with the token that was refused", async () => {
    const seen: string[] = []
    const transport = createSessionTransport({
      inner: createRouterTransport(({ service }) =>
        service(AuthService, {
          me(_, { requestHeader }) {
            seen.push(requestHeader.get("authorization") ?? "")
            throw stale()
          },
        }),
      ),
      clock: testClock(),
      token: async () => ({ token: "t", generation: 1, sinceMs: 0, goodUntilMs: 1e15 }),
    })
    expect(await reasonOf(createClient(AuthService, transport).me({}))).toBe("PERMISSIONS_STALE")
    expect(seen).toEqual(["Bearer t"])
  })

  test.each([Code.PermissionDenied, Code.Internal])(
    "that fails without a reason (%s) needs no other token",
    async (code) => {
      const { auth, seen } = worldOf(new ConnectError("failed", code))
      expect(await reasonOf(auth.me({}))).toBe(Code[code])
      expect(seen).toHaveLength(1)
    },
  )

  test("is retried on an unavailable service if it is idempotent", async () => {
    const clock = testClock()
    let calls = 0
    const inner = createRouterTransport(({ service }) =>
      service(AuthService, {
        logoutAll() {
          if (++calls === 1) throw refusal(Code.Unavailable, "UNAVAILABLE", 1)
          return {}
        },
      }),
    )
    const token = async () => ({ token: "t", generation: 1, sinceMs: 0, goodUntilMs: 1e15 })
    const transport = createSessionTransport({ inner, clock, token })
    const idempotent = { ...AuthService.method.logoutAll, idempotency: Idempotency.IDEMPOTENT }
    const call = transport.unary(idempotent, undefined, undefined, undefined, {})
    await clock.pass(1_000)
    await call
    expect(calls).toBe(2)
  })

  test("that was canceled before it began waits for nothing", async () => {
    const inner = createRouterTransport(() => {})
    const transport = createSessionTransport({ inner, clock: testClock(), token: () => new Promise(() => {}) })
    expect(await reasonOf(createClient(AuthService, transport).me({}, { signal: AbortSignal.abort() }))).toBe(
      "Canceled",
    )
  })
})

describe("a stream of requests", () => {
  const { serverReflectionInfo } = ServerReflection.method
  const token = async (old?: AccessToken) => ({
    token: old ? "t2" : "t1",
    generation: 1,
    sinceMs: 0,
    goodUntilMs: 1e15,
  })

  test("is sent unbuffered, and is not opened again", async () => {
    const seen: string[] = []
    const inner = createRouterTransport(({ service }) =>
      service(ServerReflection, {
        async *serverReflectionInfo(requests, { requestHeader }) {
          seen.push(requestHeader.get("authorization") ?? "")
          for await (const { host } of requests) {
            if (host === "refused") throw stale()
            yield { validHost: host }
          }
        },
      }),
    )
    const client = createClient(ServerReflection, createSessionTransport({ inner, clock: testClock(), token }))
    const answered = Promise.withResolvers<void>()
    async function* requests() {
      yield { host: "a" }
      await answered.promise
      yield { host: "b" }
    }
    const hosts: string[] = []
    for await (const { validHost } of client.serverReflectionInfo(requests())) {
      hosts.push(validHost)
      answered.resolve()
    }
    expect(hosts).toEqual(["a", "b"])
    async function* refused() {
      yield { host: "refused" }
    }
    const reading = client.serverReflectionInfo(refused())[Symbol.asyncIterator]().next()
    expect(await reasonOf(reading)).toBe("PERMISSIONS_STALE")
    expect(seen).toEqual(["Bearer t1", "Bearer t1"])
  })

  test("that is refused at its opening is not opened again", async () => {
    let opened = 0
    const inner: Transport = {
      ...createRouterTransport(() => {}),
      async stream() {
        opened++
        throw stale()
      },
    }
    const transport = createSessionTransport({ inner, clock: testClock(), token })
    async function* requests() {}
    const opening = transport.stream(serverReflectionInfo, undefined, undefined, undefined, requests())
    expect(await reasonOf(opening)).toBe("PERMISSIONS_STALE")
    expect(opened).toBe(1)
  })
})

describe("a stream", () => {
  const statuses = async (stream: AsyncIterable<{ status: Status }>) => {
    const seen: Status[] = []
    for await (const { status } of stream) seen.push(status)
    return seen
  }

  test("is opened again before its first message", async () => {
    const { health, seen } = worldOf(stale())
    expect(await statuses(health.watch({}))).toEqual([Status.SERVING, Status.NOT_SERVING])
    expect(seen.slice(0, 2)).toEqual(["Bearer t1", "Bearer t2"])
  })

  test("is never opened again after it", async () => {
    const { health, seen } = worldOf("yes", stale())
    expect(await reasonOf(statuses(health.watch({})))).toBe("PERMISSIONS_STALE")
    expect(seen).toEqual(["Bearer t1", "Bearer t1"])
  })

  test("that is refused twice is refused", async () => {
    const { health } = worldOf(stale(), stale())
    expect(await reasonOf(statuses(health.watch({})))).toBe("PERMISSIONS_STALE")
  })
})
