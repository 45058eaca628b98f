// Each kind of bad input has one reason, identical over every protocol that can express it, and reaches no handler.
import { gzipSync } from "node:zlib"
import { create, toBinary } from "@bufbuild/protobuf"
import { AuthService, RefreshRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { startFrontWorker } from "../edge/node/testing/front-worker.ts"
import { maxRequestBytes } from "../serving/wire/limits.ts"
import {
  type Ask,
  ask,
  contentTypes,
  enveloped,
  isJsonProtocol,
  type Protocol,
  protocols,
  utf8,
} from "./testing/ask.ts"
import { startFront, startTransports } from "./testing/transport-server.ts"

interface Served {
  readonly url: string
  /** The handlers reached and the number of faults since the last call. */
  seen(): Promise<{ reached: string[]; faults: number }>
  close(): Promise<unknown>
}
let server: Served
const seenIn = (of: { faults: unknown[]; reached: string[] }) => async () => ({
  reached: of.reached.splice(0),
  faults: of.faults.splice(0).length,
})
const served = async (calls: "ours" | "connect"): Promise<Served> => {
  const started = await startTransports({ calls })
  return { url: started.url, seen: seenIn(started), close: () => started.app.close() }
}
const workerd = { name: "workerd", start: startFrontWorker, isHttp2: false }
/** Both implementations of calls must give the same answers. */
const servers: readonly { name: string; start: () => Promise<Served>; isHttp2: boolean }[] = [
  { name: "Node, calls by ours", start: () => served("ours"), isHttp2: true },
  { name: "Node, calls by Connect", start: () => served("connect"), isHttp2: true },
  {
    name: "fetch",
    async start() {
      const started = await startFront()
      return { ...started, seen: seenIn(started) }
    },
    isHttp2: false,
  },
  ...effort([], [workerd], [workerd]),
]
const refresh = { rpc: "/signet.auth.v1.AuthService/Refresh", rest: "/auth/session/refresh" }
const binary = (fields: { refreshToken?: string; retryKey?: string }) =>
  toBinary(RefreshRequestSchema, create(RefreshRequestSchema, fields))

/** The input as JSON and as protobuf; null if a format cannot express it. */
interface Case {
  json: string | Uint8Array | null
  proto: Uint8Array | null
  more?: Partial<Ask>
}
const deep = (levels: number) => `{"audiences":${"[".repeat(levels)}${"]".repeat(levels)}}`
const fine = { json: `{"refreshToken":"r"}`, proto: binary({ refreshToken: "r" }) }
const large = "x".repeat(70_000)

const cases: [what: string, reason: string, sent: Case][] = [
  ["an unknown field", "UNKNOWN_FIELD", { json: `{"refreshTokn":"r"}`, proto: null }],
  ["an unknown nested field", "UNKNOWN_FIELD", { json: `{"a":{"b":1}}`, proto: null }],
  ["__proto__", "UNKNOWN_FIELD", { json: `{"__proto__":{"refreshToken":"r"}}`, proto: null }],
  ["constructor", "UNKNOWN_FIELD", { json: `{"constructor":1}`, proto: null }],
  ["a field twice", "DUPLICATE_FIELD", { json: `{"refreshToken":"a","refreshToken":"b"}`, proto: null }],
  ["a field twice, escaped", "DUPLICATE_FIELD", { json: `{"refreshToken":"a","refresh\\u0054oken":"b"}`, proto: null }],
  ["a field by both names", "DUPLICATE_FIELD", { json: `{"refreshToken":"a","refresh_token":"b"}`, proto: null }],
  ["a number for a text", "INVALID_FIELD", { json: `{"refreshToken":5}`, proto: null }],
  ["an object for a text", "INVALID_FIELD", { json: `{"refreshToken":{}}`, proto: null }],
  ["a list for the message", "MALFORMED_REQUEST", { json: `[]`, proto: null }],
  ["null for the message", "MALFORMED_REQUEST", { json: `null`, proto: null }],
  ["33 levels", "NESTING_TOO_DEEP", { json: deep(32), proto: null }],
  ["a nesting bomb", "NESTING_TOO_DEEP", { json: "[".repeat(60_000), proto: null }],
  ["a byte order mark", "MALFORMED_REQUEST", { json: `\ufeff{}`, proto: null }],
  ["half a message", "MALFORMED_REQUEST", { json: `{"refreshToken":"r`, proto: Uint8Array.of(0x0a, 0x05, 0x41) }],
  ["text that is not UTF-8", "MALFORMED_REQUEST", { json: notUtf8(), proto: Uint8Array.of(0x0a, 0x02, 0xc3, 0x28) }],
  ["a broken rule", "INVALID_FIELD", { json: `{"retryKey":"short"}`, proto: binary({ retryKey: "short" }) }],
  [
    "U+0000 in a text",
    "INVALID_FIELD",
    { json: `{"refreshToken":"a\\u0000"}`, proto: binary({ refreshToken: "a\0" }) },
  ],
  ["half a surrogate pair", "INVALID_FIELD", { json: `{"refreshToken":"\\ud800"}`, proto: null }],
  ["a large body", "BODY_TOO_LARGE", { json: `{"refreshToken":"${large}"}`, proto: binary({ refreshToken: large }) }],
  ["an unknown content type", "UNSUPPORTED_MEDIA_TYPE", { ...fine, more: { contentType: "text/plain" } }],
  ["a form", "UNSUPPORTED_MEDIA_TYPE", { ...fine, more: { contentType: "application/x-www-form-urlencoded" } }],
  [
    "another charset",
    "UNSUPPORTED_MEDIA_TYPE",
    { json: "{}", proto: null, more: { contentType: "application/json; charset=utf-16" } },
  ],
  [
    "an unknown method",
    "METHOD_UNKNOWN",
    { ...fine, more: { rpc: "/signet.auth.v1.AuthService/Nope", rest: "/auth/nope" } },
  ],
  ["an unknown service", "METHOD_UNKNOWN", { ...fine, more: { rpc: "/a.B/C", rest: "/" } }],
  ["a deadline that is none", "MALFORMED_REQUEST", { ...fine, more: { timeoutMs: -1 } }],
  ["an expired deadline", "DEADLINE_EXCEEDED", { ...fine, more: { timeoutMs: 0 } }],
  [
    "a refusal before the body",
    "NO_CREDENTIAL",
    { json: "{", proto: Uint8Array.of(1), more: { headers: { "x-refuse": "NO_CREDENTIAL" } } },
  ],
]

function notUtf8(): Uint8Array {
  const bytes = utf8(`{"refreshToken":"??"}`)
  bytes.set([0xc3, 0x28], bytes.indexOf(0x3f))
  return bytes
}

const sentOver = (protocol: Protocol, { json, proto }: Case): Uint8Array | null =>
  isJsonProtocol(protocol) ? (typeof json === "string" ? utf8(json) : json) : proto

describe.each(servers)("by $name", ({ start, isHttp2 }) => {
  const spoken = (protocol: Protocol) => isHttp2 || !/^gRPC( JSON)?$/.test(protocol)
  beforeAll(async () => {
    server = await start()
  })
  beforeEach(() => server.seen())
  afterAll(() => server.close())

  describe.each(protocols.filter(spoken))("%s", (protocol) => {
    test("accepts a valid call", async () => {
      const body = sentOver(protocol, fine) ?? new Uint8Array()
      const contentType = protocol === "gRPC" ? "application/grpc+proto" : contentTypes[protocol]
      expect(await ask(server.url, protocol, { ...refresh, body })).toEqual({ status: 200, reason: "", contentType })
      expect((await server.seen()).reached).toEqual(["refresh"])
    })

    test("accepts as many bytes as the limit, besides the framing", async () => {
      const most = maxRequestBytes(AuthService.method.refresh)
      const bodyOf = (length: number) => {
        const refreshToken = "x".repeat(length)
        return sentOver(protocol, { json: JSON.stringify({ refreshToken }), proto: binary({ refreshToken }) })
      }
      // The text is too long in both: a body within the limit is read, and then refused for its field.
      const whole = bodyOf(most - ((bodyOf(most)?.length ?? 0) - most))
      expect(whole).toHaveLength(most)
      for (const [body, reason] of [
        [whole, "INVALID_FIELD"],
        [Uint8Array.of(...(whole ?? []), 32), "BODY_TOO_LARGE"],
      ] as const) {
        expect((await ask(server.url, protocol, { ...refresh, body: body ?? new Uint8Array() })).reason).toBe(reason)
      }
    })

    test.each(cases.filter(([, , sent]) => sentOver(protocol, sent) !== null))(
      "refuses %s with %s",
      async (_, reason, sent) => {
        const body = sentOver(protocol, sent) ?? new Uint8Array()
        const type = sent.more?.contentType
        // For gRPC application/json is a content type of another protocol, with the same answer.
        const more =
          type?.startsWith("application/json") && protocol.startsWith("gRPC")
            ? { contentType: "application/grpc+xml" }
            : {}
        const answer = await ask(server.url, protocol, { ...refresh, body, ...sent.more, ...more })
        expect(answer.reason).toBe(reason)
        expect((await server.seen()).reached).toEqual([])
      },
    )

    test("refuses a compressed message", async () => {
      const body = gzipSync(sentOver(protocol, fine) ?? "")
      const header = protocol.startsWith("gRPC") ? "grpc-encoding" : "content-encoding"
      const answer = await ask(server.url, protocol, { ...refresh, body, headers: { [header]: "gzip" } })
      expect(answer.reason).toBe("UNSUPPORTED_MEDIA_TYPE")
      expect((await server.seen()).reached).toEqual([])
    })

    test.each(["fault", "null"])("reveals nothing about a %s", async (refreshToken) => {
      const body = sentOver(protocol, { json: JSON.stringify({ refreshToken }), proto: binary({ refreshToken }) })
      const logout = { rpc: "/signet.auth.v1.AuthService/Logout", rest: "/auth/session/logout" }
      const answer = await ask(server.url, protocol, { ...logout, body: body ?? new Uint8Array() })
      expect(answer.reason).toBe("INTERNAL")
      expect((await server.seen()).faults).toBe(1)
    })
  })

  test("a binary message loses fields that its schema lacks", async () => {
    const body = Uint8Array.of(...binary({ refreshToken: "r" }), 0xfa, 0x3f, 0x01, 0x41)
    for (const protocol of (["Connect binary", "gRPC", "gRPC-Web"] as const).filter(spoken)) {
      expect(await ask(server.url, protocol, { ...refresh, body })).toMatchObject({ status: 200, reason: "" })
    }
  })

  describe.each((["gRPC", "gRPC-Web"] as const).filter(spoken))("a frame of %s", (protocol) => {
    const message = binary({ refreshToken: "r" })
    const flagged = enveloped(message)
    flagged[0] = 2
    const short = enveloped(message)
    short[4] = message.length - 1
    test.each<[string, Uint8Array]>([
      ["that is missing", new Uint8Array()],
      ["that is cut", Uint8Array.of(0, 0, 0)],
      ["that is longer than its message", Uint8Array.of(0, 0, 0, 0, 99, 1)],
      ["that is shorter than its message", short],
      ["with flags that do not exist", flagged],
      ["that is followed by another", Uint8Array.of(...enveloped(message), ...enveloped(message))],
      ["of four gigabytes", Uint8Array.of(0, 255, 255, 255, 255, 1)],
    ])("%s is refused", async (_, body) => {
      const answer = await ask(server.url, protocol, { ...refresh, body, unframed: true })
      expect(answer.reason).toBe("MALFORMED_REQUEST")
      expect((await server.seen()).reached).toEqual([])
    })
  })
})
