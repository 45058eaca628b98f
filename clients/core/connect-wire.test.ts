import { create, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { encodeEnvelope } from "@connectrpc/connect/protocol"
import { AuthService, MeResponseSchema } from "@signet/proto/auth/v1/auth_service"
import { ServerReflection } from "@signet/proto/grpc/reflection/v1/reflection"
import { ConversationService, SubscribeResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import { connect } from "./connect-wire.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

/** A client whose service answers every request with these bytes, and the requests that it got. */
function answering(contentType: string, parts: readonly Uint8Array[]) {
  const seen: RequestInit[] = []
  const transport = connect({
    baseUrl: "https://a",
    async fetch(_, init) {
      seen.push(init ?? {})
      return new Response(Buffer.concat(parts), { headers: { "content-type": contentType } })
    },
  })
  return { seen, transport }
}

test("a call follows no redirect: another host would get the token", async () => {
  const { seen, transport } = answering("application/proto", [toBinary(MeResponseSchema, create(MeResponseSchema))])
  await createClient(AuthService, transport).me({}, { headers: { authorization: "Bearer token" } })
  expect(seen).toMatchObject([{ method: "POST", redirect: "error" }])
})

const message = toBinary(SubscribeResponseSchema, create(SubscribeResponseSchema))
const end = encodeEnvelope(2, utf8("{}"))
const refused = encodeEnvelope(2, utf8(JSON.stringify({ error: { code: "unauthenticated", message: "ended" } })))

/** Reads a stream to its end. */
async function read(...parts: Uint8Array[]) {
  const { seen, transport } = answering("application/connect+proto", parts)
  let messages = 0
  let code: Code | undefined
  try {
    for await (const _ of createClient(ConversationService, transport).subscribe({})) messages++
  } catch (error) {
    code = ConnectError.from(error).code
  }
  return { messages, code, redirect: seen[0]?.redirect }
}

test.each<[string, Uint8Array[], number, Code | undefined]>([
  ["that has its end", [encodeEnvelope(0, message), encodeEnvelope(0, message), end], 2, undefined],
  ["that was cut after a message", [encodeEnvelope(0, message)], 1, Code.Unavailable],
  ["that was cut within a message", [encodeEnvelope(0, message), Uint8Array.of(0, 0, 0, 0, 9)], 1, Code.Unavailable],
  ["with a compressed message", [encodeEnvelope(1, message), end], 0, Code.Internal],
  ["that the service refuses in its midst", [encodeEnvelope(0, message), refused], 1, Code.Unauthenticated],
  ["with messages after its end", [end, encodeEnvelope(0, message)], 0, undefined],
])("a stream %s is read as far as it goes", async (_, parts, messages, code) => {
  expect(await read(...parts)).toEqual({ messages, code, redirect: "error" })
})

test("a canceled call ends its request", async () => {
  const stop = new AbortController()
  const transport = connect({
    baseUrl: "https://a",
    fetch: (_, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason))
        stop.abort()
      }),
  })
  const call = createClient(AuthService, transport).me({}, { signal: stop.signal })
  await expect(call).rejects.toMatchObject({ code: Code.Canceled })
})

test.each([0, -1])("a timeout of %i is none", async (timeoutMs) => {
  const { seen, transport } = answering("application/proto", [toBinary(MeResponseSchema, create(MeResponseSchema))])
  await createClient(AuthService, transport).me({}, { timeoutMs })
  expect(new Headers(seen[0]?.headers).has("connect-timeout-ms")).toBe(false)
})

test("a stream needs one request and an answer with a body", async () => {
  const { seen, transport } = answering("application/connect+proto", [end])
  const { subscribe } = ConversationService.method
  const { serverReflectionInfo } = ServerReflection.method
  async function* nothing() {}
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      (error: unknown) => ConnectError.from(error).code,
    )
  expect(await codeOf(transport.stream(subscribe, undefined, undefined, undefined, nothing()))).toBe(
    Code.InvalidArgument,
  )
  expect(await codeOf(transport.stream(serverReflectionInfo, undefined, undefined, undefined, nothing()))).toBe(
    Code.Unimplemented,
  )
  expect(seen).toEqual([])
  const headers = { "content-type": "application/connect+proto" }
  const empty = connect({ baseUrl: "https://a", fetch: async () => new Response(null, { headers }) })
  const reading = createClient(ConversationService, empty).subscribe({})[Symbol.asyncIterator]().next()
  expect(await codeOf(reading)).toBe(Code.Internal)
})
