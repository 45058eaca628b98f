import { create, type DescService, type Message } from "@bufbuild/protobuf"
import {
  Code,
  ConnectError,
  type ConnectRouterOptions,
  createClient,
  createConnectRouter,
  createContextValues,
  createRouterTransport,
  type HandlerContext,
  type StreamRequest,
} from "@connectrpc/connect"
import type { Deny } from "@signet/kernel/authz/authorize"
import type { AuthContext } from "@signet/kernel/authz/context"
import { newId } from "@signet/kernel/ids"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { Source } from "@signet/proto/authz/v1/requirement"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { describe, expect, test } from "vitest"
import { type ConnectGuardOptions, createConnectGuard, kAuth } from "./connect.ts"
import { createGuard } from "./guard.ts"
import { createLocalKeySet } from "./key-set.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import { createIssuer, ids } from "./testing/issuer.ts"
import { isServerStreaming, isUnary, type Requires, serviceWith } from "./testing/methods.ts"

const issuer = createIssuer()
const local = createLocalKeySet(issuer, nodeTokenCrypto)
let lookUps = 0
const guard = createGuard({
  issuer: issuer.issuer,
  audience: issuer.audience,
  appId: issuer.appId,
  keySet: {
    find(kid) {
      lookUps++
      return local.find(kid)
    },
  },
  crypto: nodeTokenCrypto,
  clock: issuer.clock,
})
const bearer = (change?: object) => ({ authorization: `Bearer ${issuer.token(change)}` })

const arrangements = [
  ["gate and interceptor", true],
  ["the interceptor alone", false],
] as const

/** Services in this process whose methods record their caller. */
function serve(services: readonly DescService[], hasGate: boolean, options: Partial<ConnectGuardOptions> = {}) {
  const { gate, interceptor } = createConnectGuard({ guard, services, ...options })
  const seen: (AuthContext | undefined)[] = []
  const received: Message[] = []
  const router: ConnectRouterOptions = {
    interceptors: [interceptor],
    ...(hasGate ? { requestGate: gate } : {}),
  }
  const transport = createRouterTransport(
    (routes) => {
      for (const method of services.flatMap((service) => service.methods)) {
        const note = (message: Message, context: HandlerContext) => {
          received.push(message)
          seen.push(context.values.get(kAuth))
          return create(method.output)
        }
        if (isUnary(method)) routes.rpc(method, note)
        if (isServerStreaming(method)) {
          routes.rpc(method, async function* (message: Message, context: HandlerContext) {
            yield note(message, context)
          })
        }
      }
    },
    { router },
  )
  const reasonOf = async (call: Promise<unknown>): Promise<string> => {
    const error = await call.then(
      () => undefined,
      (thrown) => ConnectError.from(thrown),
    )
    return error === undefined ? "allow" : (error.findDetails(ErrorInfoSchema)[0]?.reason ?? error.message)
  }
  return { seen, received, transport, reasonOf, client: createClient(AuthService, transport) }
}

describe.each(arrangements)("with %s", (_, hasGate) => {
  test("the handler receives the caller of a valid token", async () => {
    const { seen, client } = serve([AuthService], hasGate)
    await client.me({}, { headers: bearer() })
    expect(seen[0]?.principal).toEqual({ id: ids.principal, kind: "USER" })
  })

  test("a call without a token is refused with code, reason and challenge", async () => {
    const { seen, client } = serve([AuthService], hasGate)
    const error = ConnectError.from(await client.me({}).catch((thrown) => thrown))
    expect(error.code).toBe(Code.Unauthenticated)
    expect(error.findDetails(ErrorInfoSchema)[0]?.reason).toBe("NO_CREDENTIAL")
    expect(error.metadata.get("www-authenticate")).toBe('Bearer realm="signet"')
    expect(seen).toEqual([])
  })

  test("a public method ignores credentials, valid or not", async () => {
    const { seen, client } = serve([AuthService], hasGate)
    lookUps = 0
    await client.externalLogin({}, { headers: { authorization: "Bearer stale" } })
    await client.externalLogin({}, { headers: bearer() })
    expect(seen).toEqual([undefined, undefined])
    expect(lookUps).toBe(0)
  })

  test("with a credential in the body, a valid bearer token is used and an invalid one is ignored", async () => {
    const { seen, client } = serve([AuthService], hasGate)
    await client.logout({}, { headers: bearer() })
    await client.logout({}, { headers: { authorization: "Bearer stale" } })
    await client.logout({})
    expect(seen.map((context) => context?.sessionId)).toEqual([ids.session, undefined, undefined])
  })

  test("a service that the guard does not know is refused", async () => {
    const { client, seen } = serve([AuthService], hasGate)
    const { gate, interceptor } = createConnectGuard({ guard, services: [SessionService] })
    const transport = createRouterTransport(({ service }) => service(AuthService, { me: () => ({}) }), {
      router: { interceptors: [interceptor], ...(hasGate ? { requestGate: gate } : {}) },
    })
    await expect(createClient(AuthService, transport).me({}, { headers: bearer() })).rejects.toThrow(
      /method or route does not exist/,
    )
    expect(await client.me({}, { headers: bearer() })).toBeDefined()
    expect(seen).toHaveLength(1)
  })
})

/** Calls the only method of a service with this requirement. */
async function ask(
  requirement: Requires,
  call: { header?: HeadersInit; message?: Record<string, unknown>; isStream?: boolean },
  options: Partial<ConnectGuardOptions> = {},
) {
  const service = serviceWith([requirement], { server: call.isStream === true })
  const [method] = service.methods
  if (method === undefined) throw new Error("no method")
  const { transport, reasonOf, received } = serve([service], true, options)
  const reason = await reasonOf(
    (async () => {
      if (isUnary(method)) {
        return await transport.unary(method, undefined, undefined, call.header, call.message ?? {})
      }
      if (!isServerStreaming(method)) throw new Error("no such test")
      const input = (async function* () {
        yield call.message ?? {}
      })()
      const answer = await transport.stream(method, undefined, undefined, call.header, input)
      for await (const _ of answer.message);
    })(),
  )
  return { reason, received }
}

describe("values in the request", () => {
  const tenantIn = (from: Source, field: string): Requires => ({ check: { case: "tenant", value: { from, field } } })
  const header = bearer({ tenant_id: ids.tenant })

  test.each<[string, Requires, Record<string, unknown>, string]>([
    ["a tenant in the message", tenantIn(Source.BODY, "tenant_id"), { tenantId: ids.tenant }, "allow"],
    ["a tenant in the path", tenantIn(Source.PATH, "tenant_id"), { tenantId: ids.tenant }, "allow"],
    ["another tenant", tenantIn(Source.BODY, "tenant_id"), { tenantId: `${ids.tenant}x` }, "TENANT_MISMATCH"],
    ["no tenant", tenantIn(Source.BODY, "tenant_id"), {}, "TENANT_MISMATCH"],
    ["a tenant deeper down", tenantIn(Source.BODY, "note.id"), { note: { id: ids.tenant } }, "allow"],
    ["nothing on the way down", tenantIn(Source.BODY, "note.id"), {}, "TENANT_MISMATCH"],
    ["the token's tenant", tenantIn(Source.TOKEN, ""), {}, "allow"],
  ])("%s", async (_, requirement, message, expected) => {
    for (const isStream of [false, true]) {
      const { reason, received } = await ask(requirement, { header, message, isStream })
      expect(reason).toBe(expected)
      // The decision read a stream's message, which must still reach the handler.
      expect(received).toHaveLength(expected === "allow" ? 1 : 0)
      if (expected === "allow") expect(received[0]).toMatchObject(message)
    }
  })

  test("a tenant in a header", async () => {
    const requirement = tenantIn(Source.HEADER, "x-tenant")
    expect((await ask(requirement, { header: { ...header, "x-tenant": ids.tenant } })).reason).toBe("allow")
    expect((await ask(requirement, { header: { ...header, "x-tenant": "x" } })).reason).toBe("TENANT_MISMATCH")
    expect((await ask(requirement, { header })).reason).toBe("TENANT_MISMATCH")
  })

  test("the target looks a resource up, and another tenant's gets the same answer as a missing one", async () => {
    const action = "notes.note.edit"
    const requirement: Requires = {
      check: { case: "resourceAction", value: { action, type: "note", from: Source.BODY, field: "note.id" } },
    }
    const denials: Deny[] = []
    const asked: string[] = []
    const options: Partial<ConnectGuardOptions> = {
      onDeny: (deny) => denials.push(deny),
      findResource: async (type, id) => {
        asked.push(`${type} ${id}`)
        return id === "n1" ? { type, id, appId: ids.app, tenantId: null, contextId: null } : undefined
      },
    }
    const found = await ask(requirement, { header, message: { note: { id: "n1" } } }, options)
    const none = await ask(requirement, { header, message: { note: { id: "n2" } } }, options)
    expect([found.reason, none.reason]).toEqual(["RESOURCE_UNRESOLVED", "RESOURCE_UNRESOLVED"])
    expect(denials.map(({ trueReason }) => trueReason)).toEqual(["TENANT_MISMATCH", "RESOURCE_UNRESOLVED"])
    expect(asked).toEqual(["note n1", "note n2"])
    // A call without a token causes no lookup.
    expect((await ask(requirement, { message: { note: { id: "n1" } } }, options)).reason).toBe("NO_CREDENTIAL")
    expect(asked).toHaveLength(2)
  })

  test("the services' app", async () => {
    const requirement: Requires = { check: { case: "kinds", value: { of: [PrincipalKind.USER] } } }
    expect((await ask(requirement, { header })).reason).toBe("allow")
    const elsewhere = bearer({ app_id: newId("app", 2, new Uint8Array(10)) })
    expect((await ask(requirement, { header: elsewhere })).reason).toBe("APP_MISMATCH")
  })
})

test("the challenge names a missing scope, and the maximum age of the sign-in", async () => {
  const challenges: (string | null)[] = []
  for (const requirement of [
    { check: { case: "scope", value: "notes.write" } },
    { check: { case: "scope", value: "notes.read" }, maxAuthAgeSeconds: 5 },
  ] satisfies Requires[]) {
    const service = serviceWith([requirement])
    const { transport } = serve([service], true)
    const [method] = service.methods
    if (method === undefined || !isUnary(method)) throw new Error("no method")
    const headers = bearer({ auth_time: 1_600_000_000 })
    const error = ConnectError.from(await transport.unary(method, undefined, undefined, headers, {}).catch((e) => e))
    challenges.push(error.metadata.get("www-authenticate"))
  }
  expect(challenges).toEqual([
    'Bearer realm="signet", error="insufficient_scope", scope="notes.write"',
    'Bearer realm="signet", error="insufficient_user_authentication", max_age="5"',
  ])
})

test("the gate refuses before the body is read", async () => {
  const { gate, interceptor } = createConnectGuard({ guard, services: [AuthService] })
  const router = createConnectRouter({ requestGate: gate, interceptors: [interceptor] })
  router.service(AuthService, { me: () => ({}) })
  const handler = router.handlers.find(({ method }) => method.name === "Me")
  let reads = 0
  async function* body() {
    reads++
    yield new Uint8Array()
  }
  const answer = (header: HeadersInit) =>
    handler?.({
      httpVersion: "1.1",
      method: "POST",
      url: "http://localhost/signet.auth.v1.AuthService/Me",
      header: new Headers({ "content-type": "application/proto", ...header }),
      body: body(),
      signal: new AbortController().signal,
    })
  expect((await answer({}))?.status).toBe(401)
  expect((await answer({ authorization: "Bearer stale" }))?.status).toBe(401)
  expect(reads).toBe(0)
  expect((await answer(bearer()))?.status).toBe(200)
  expect(reads).toBe(1)
})

describe("a stream without a single request", () => {
  const kinds: Requires = { check: { case: "kinds", value: { of: [PrincipalKind.USER] } } }
  const tenant: Requires = { check: { case: "tenant", value: { from: Source.BODY, field: "tenant_id" } } }

  /** The messages that the handler reads, and how many were read before it runs. */
  async function answer(requirement: Requires, streaming: { client?: boolean; server?: boolean }, messages: Message[]) {
    const service = serviceWith([requirement], streaming)
    const [method] = service.methods
    if (method === undefined) throw new Error("no method")
    const { interceptor } = createConnectGuard({ guard, services: [service] })
    let reads = 0
    async function* input() {
      for (const message of messages) {
        reads++
        yield message
      }
    }
    let readBefore = -1
    const received: Message[] = []
    const handle = interceptor(async (request) => {
      readBefore = reads
      if (request.stream) for await (const message of request.message) received.push(message)
      return { stream: true, service, method, header: new Headers(), trailer: new Headers(), message: input() } as never
    })
    await handle({
      ...{ stream: true, requestMethod: "POST", url: "https://notes.example/", method, service },
      ...{ header: new Headers(bearer({ tenant_id: ids.tenant })), contextValues: createContextValues() },
      ...{ message: input(), signal: new AbortController().signal },
    } as StreamRequest)
    return { readBefore, received }
  }

  test.each([{ client: true }, { client: true, server: true }])("the guard ignores %j", async (streaming) => {
    const message = create(serviceWith([kinds]).methods[0]?.input ?? expect.fail())
    expect(await answer(kinds, streaming, [message])).toEqual({ readBefore: 0, received: [message] })
  })

  test("has no message for the handler, and names no tenant", async () => {
    expect(await answer(kinds, { server: true }, [])).toEqual({ readBefore: 0, received: [] })
    const refused = await answer(tenant, { server: true }, []).catch((error: unknown) => ConnectError.from(error))
    expect(refused).toMatchObject({ code: Code.PermissionDenied })
    expect((refused as ConnectError).findDetails(ErrorInfoSchema)[0]?.reason).toBe("TENANT_MISMATCH")
  })
})

test("a service with a method without a requirement does not start", () => {
  const kinds: Requires = { check: { case: "kinds", value: { of: [PrincipalKind.USER] } } }
  expect(() => createConnectGuard({ guard, services: [serviceWith([kinds, undefined])] })).toThrow(/M1: no/)
})
