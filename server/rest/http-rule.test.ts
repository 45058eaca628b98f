import { create, createFileRegistry, type DescMethod, type MessageInitShape, setExtension } from "@bufbuild/protobuf"
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  MethodOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt"
import { http } from "@signet/proto/google/api/annotations"
import { HttpRuleSchema } from "@signet/proto/google/api/http"
import { describe, expect, test } from "vitest"
import { bindingsOf, routeOf } from "./http-rule.ts"

type Rule = MessageInitShape<typeof HttpRuleSchema>

/** A method with this rule, whose request has a text `id`, a list `ids` and a secret `token`. */
function methodWith(rule: Rule, serverStreaming = false): DescMethod {
  const options = create(MethodOptionsSchema)
  setExtension(options, http, create(HttpRuleSchema, rule))
  const file = create(FileDescriptorProtoSchema, {
    name: "x.proto",
    syntax: "proto3",
    package: "x",
    messageType: [
      {
        name: "Request",
        field: [
          { name: "id", number: 1, type: Type.STRING, label: Label.OPTIONAL },
          { name: "ids", number: 2, type: Type.STRING, label: Label.REPEATED },
          ...(rule.body === "*"
            ? [{ name: "token", number: 3, type: Type.STRING, label: Label.OPTIONAL, options: { debugRedact: true } }]
            : []),
        ],
      },
      {
        name: "Secret",
        field: [{ name: "token", number: 1, type: Type.STRING, label: Label.OPTIONAL, options: { debugRedact: true } }],
      },
    ],
    service: [
      {
        name: "XService",
        method: [
          { name: "Do", inputType: ".x.Request", outputType: ".x.Request", options, serverStreaming },
          { name: "Tell", inputType: ".x.Secret", outputType: ".x.Request", options },
        ],
      },
    ],
  })
  const method = createFileRegistry(file, () => undefined).getService("x.XService")?.methods[0]
  if (method === undefined) throw new Error("no method")
  return method
}

const get = (value: string): Rule => ({ pattern: { case: "get", value } })
const post = (value: string, more: Rule = {}): Rule => ({ pattern: { case: "post", value }, body: "*", ...more })

describe("a rule", () => {
  test.each<[string, Rule, string[]]>([
    ["of literals", get("/a/b-c/.well-known/d.json"), ["GET /a/b-c/.well-known/d.json"]],
    ["with a variable", post("/a/{id}/b"), ["POST /a/{id}/b"]],
    ["with a fixed variable", post("/a/{id=one}"), ["POST /a/one"]],
    ["with more forms", post("/a", { additionalBindings: [get("/b")] }), ["POST /a", "GET /b"]],
  ])("%s gives its routes", (_, rule, routes) => {
    // A GET may not carry the secret that the body may.
    const tolerant = rule.additionalBindings ? { ...rule, body: "" } : rule
    expect(bindingsOf(methodWith(tolerant)).map((each) => `${each.verb} ${routeOf(each)}`)).toEqual(routes)
  })

  test.each<[string, Rule]>([
    ["no verb", { additionalBindings: [], body: "", pattern: { case: "custom", value: { kind: "HEAD", path: "/a" } } }],
    ["a field that is not there", get("/a/{nope}")],
    ["a list in the path", get("/a/{ids}")],
    ["a wildcard", get("/a/**")],
    ["a template of segments", get("/a/{id=b/*}")],
    ["a space", get("/a b")],
    ["a body for GET", { ...get("/a"), body: "*" }],
    ["a part as the body", post("/a", { body: "id" })],
    ["a part as the answer", post("/a", { responseBody: "id" })],
  ])("with %s stops the program", (_, rule) => {
    expect(() => bindingsOf(methodWith(rule))).toThrow(/^google\.api\.http of x\.XService\.Do: /)
  })

  test("on a stream stops the program", () => {
    expect(() => bindingsOf(methodWith(get("/a"), true))).toThrow("a stream has no REST form")
  })

  test("that would put a secret into an address stops the program", () => {
    const tell = methodWith(get("/a")).parent.methods[1]
    expect(() => tell && bindingsOf(tell)).toThrow("token may not be in an address")
  })
})
