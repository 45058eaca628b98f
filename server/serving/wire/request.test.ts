// Reading a request in each of its forms.
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { type DescriptorProto, DescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import { CreateAppRequestSchema } from "@signet/proto/auth/v1/apps"
import { ListAuditEventsRequestSchema } from "@signet/proto/auth/v1/audit_service"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { describe, expect, test } from "vitest"
import { messageFromBinary, messageFromJson } from "./read-message.ts"
import { unstorableText } from "./text.ts"
import { checkQuery, framingOf, queryBytes, refuseCompression } from "./unary-body.ts"

/** "REASON field" of the refusal; "" for none. */
function refusalOf(work: () => unknown): string {
  try {
    work()
    return ""
  } catch (error) {
    const { reason, metadata } = Object(error)
    return `${reason} ${metadata?.field ?? ""}`.trim()
  }
}

describe("text that no database stores is found", () => {
  const app = (values: object) => create(CreateAppRequestSchema, { app: values })
  test.each<[string, string | undefined, MessageInitShape<typeof CreateAppRequestSchema>["app"]]>([
    ["in a nested message", "app.name", { name: "a\0" }],
    ["in a list", "app.audiences[1]", { audiences: ["a", "b\0"] }],
    ["in a list of messages", "app.scopes[0].key", { scopes: [{ key: "\0" }] }],
    ["as half of a character", "app.name", { name: "\ud800" }],
    ["nowhere in a text that is well formed", undefined, { name: "\u{1f600}", audiences: ["a"] }],
  ])("%s", (_, field, values) => {
    expect(unstorableText(CreateAppRequestSchema, app(values ?? {}))).toBe(field)
  })
})

describe("a JSON message", () => {
  test.each<[string, string, Parameters<typeof messageFromJson>]>([
    ["with a list that is none", "INVALID_FIELD scopes", [CreateAppRequestSchema, { app: { scopes: 5 } }]],
    ["with a time that is none", "INVALID_FIELD", [ListAuditEventsRequestSchema, { startTime: { a: 1 } }]],
    [
      "with an unknown nested field",
      "UNKNOWN_FIELD app.scopes[0].a",
      [CreateAppRequestSchema, { app: { scopes: [{ a: 1 }] } }],
    ],
  ])("%s is refused with %s", (_, refusal, of) => {
    expect(refusalOf(() => messageFromJson(...of))).toBe(refusal)
  })
})

test("a binary message is read to 32 levels", () => {
  const nested = (levels: number): DescriptorProto =>
    create(DescriptorProtoSchema, levels === 1 ? {} : { nestedType: [nested(levels - 1)] })
  const read = (levels: number) =>
    refusalOf(() => messageFromBinary(DescriptorProtoSchema, toBinary(DescriptorProtoSchema, nested(levels))))
  expect([read(20), read(200)]).toEqual(["", "NESTING_TOO_DEEP"])
})

describe("a Connect GET", () => {
  const me = AuthService.method.me
  test.each<[string, string]>([
    ["", "connect=v1&encoding=json&message=%7B%7D"],
    ["", "encoding=json&message=%7B%7D&compression=identity"],
    ["", "encoding=proto&message="],
    ["DUPLICATE_FIELD message", "encoding=json&message=%7B%7D&message=%7B%7D"],
    ["DUPLICATE_FIELD encoding", "encoding=json&encoding=proto&message=%7B%7D"],
    ["UNKNOWN_FIELD other", "encoding=json&message=%7B%7D&other=1"],
    ["UNSUPPORTED_MEDIA_TYPE", "encoding=json&message=%7B%7D&compression=gzip"],
    ["UNSUPPORTED_MEDIA_TYPE", "encoding=xml&message=%7B%7D"],
    ["BODY_TOO_LARGE", `encoding=json&message=${"x".repeat(65)}`],
    ["MALFORMED_REQUEST", "encoding=json&message=!&base64=1"],
  ])("gets %j for %s", (refusal, query) => {
    expect(refusalOf(() => checkQuery(me, new URLSearchParams(query), 64))).toBe(refusal)
  })

  test("has a message of as many bytes as the limit, counted after decoding", () => {
    const query = (bytes: number) => new URLSearchParams({ message: btoa("x".repeat(bytes)), base64: "1" })
    expect(queryBytes(query(64), 64)).toHaveLength(64)
    expect(refusalOf(() => queryBytes(query(65), 64))).toBe("BODY_TOO_LARGE")
  })
})

test("a stream's content type names its codec, and identity is no compression", () => {
  expect(framingOf("application/connect")).toBeUndefined()
  expect(framingOf("application/connect+proto")).toMatchObject({ protocol: "connect-stream" })
  const compressed = (encoding: string) => refusalOf(() => refuseCompression(() => encoding))
  expect([compressed("identity"), compressed("gzip")]).toEqual(["", "UNSUPPORTED_MEDIA_TYPE"])
})
