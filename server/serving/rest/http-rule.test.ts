import { create, createFileRegistry, type DescMethod, type MessageInitShape, setExtension } from "@bufbuild/protobuf"
import {
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  MethodOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt"
import type { ConnectRouter } from "@connectrpc/connect"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { http } from "@signet/proto/google/api/annotations"
import { HttpRuleSchema } from "@signet/proto/google/api/http"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { describe, expect, test } from "vitest"
import { bindingsOf, routeOf } from "./http-rule.ts"
import { requestMessage } from "./request-message.ts"
import { restRoutes } from "./rest.ts"

describe("a custom verb", () => {
  const [binding] = bindingsOf(DelegationService.method.revokeDelegation)
  const address = (path: string) => ({ path, query: "", header: () => null })

  test("ends the path and is no part of the variable", () => {
    if (binding === undefined) throw new Error("no binding")
    expect(routeOf(binding)).toBe("/auth/delegations/{delegation_id}:revoke")
    expect(requestMessage(binding, address("/auth/delegations/dlg_1:revoke"), undefined)).toMatchObject({
      delegationId: "dlg_1",
    })
    expect(requestMessage(binding, address("/auth/delegations/%3Arevoke:revoke"), undefined)).toMatchObject({
      delegationId: ":revoke",
    })
  })
})

describe("a query", () => {
  const [binding] = bindingsOf(AppAuthService.method.listTenants)
  const ask = (query: string) => () => {
    if (binding === undefined) throw new Error("no binding")
    return requestMessage(binding, { path: "/auth/apps/app_1/tenants", query, header: () => null }, undefined)
  }

  test("sets no field of the path", () => {
    expect(ask("page_size=2")()).toMatchObject({ appId: "app_1", pageSize: 2 })
    expect(ask("app_id=app_1")).toThrow(expect.objectContaining({ reason: "UNKNOWN_FIELD" }))
  })

  test("has true or false for a boolean", () => {
    const [download] = bindingsOf(AttachmentService.method.downloadPart)
    const part = (query: string) => () => {
      if (download === undefined) throw new Error("no binding")
      return requestMessage(
        download,
        { path: "/messaging/attachments/att_1/parts/0", query, header: () => null },
        undefined,
      )
    }
    expect(part("accept_url=true")()).toMatchObject({ acceptUrl: true })
    expect(part("accept_url=false")()).toMatchObject({ acceptUrl: false })
    for (const text of ["1", "yes", "TRUE", ""]) {
      expect(part(`accept_url=${text}`)).toThrow(expect.objectContaining({ reason: "INVALID_FIELD" }))
    }
  })

  test("has one method for each route", () => {
    const twice = (router: ConnectRouter) => void router.service(DelegationService, {}).service(DelegationService, {})
    const options = { interceptors: [], onFault: () => undefined }
    expect(() => restRoutes({ ...options, routes: twice })).toThrow(/two methods claim POST \/auth\/delegation/)
  })
})

describe("a rule is refused at start", () => {
  /** A method whose request has a text, a secret and a message. */
  function methodOf(rule: MessageInitShape<typeof HttpRuleSchema>, isStream = false): DescMethod {
    const options = create(MethodOptionsSchema)
    setExtension(options, http, create(HttpRuleSchema, rule))
    const field = [
      { name: "name", number: 1, type: Type.STRING },
      { name: "inner", number: 2, type: Type.MESSAGE, typeName: ".Asked" },
      { name: "secret", number: 3, type: Type.STRING, options: create(FieldOptionsSchema, { debugRedact: true }) },
    ]
    const plain = { name: "Plain", field: field.slice(0, 2) }
    const inputType = rule.selector === "secret" ? ".Asked" : ".Plain"
    const method = [{ name: "Do", inputType, outputType: ".Asked", options, serverStreaming: isStream }]
    const file = create(FileDescriptorProtoSchema, {
      ...{ name: "rules.proto", syntax: "proto3", messageType: [{ name: "Asked", field }, plain] },
      service: [{ name: "Rules", method }],
    })
    const found = createFileRegistry(file, () => undefined).getService("Rules")?.methods[0]
    if (found === undefined) throw new Error("there is no such method")
    return found
  }
  const get = (value: string) => ({ case: "get", value }) as const
  const post = (value: string) => ({ case: "post", value }) as const

  test.each<[string, RegExp, MessageInitShape<typeof HttpRuleSchema>, boolean?]>([
    ["of a stream", /streaming method/, { pattern: get("/a") }, true],
    ["with a method of its own", /HTTP method/, { pattern: { case: "custom", value: { kind: "HEAD", path: "/a" } } }],
    ["with a part as the body", /body must be/, { pattern: post("/a"), body: "name" }],
    ["with a part as the answer", /response_body/, { pattern: get("/a"), responseBody: "name" }],
    ["that has GET with a body", /GET has no body/, { pattern: get("/a"), body: "*" }],
    ["that puts a secret into an address", /redacted/, { pattern: get("/a"), selector: "secret" }],
    ["with a verb inside the path", /custom verb must end/, { pattern: get("/{name}:do/a") }],
    ["with a segment that is none", /not a path segment/, { pattern: get("/a b") }],
    ["with an unknown field", /not a field/, { pattern: get("/{other}") }],
    ["with a message in the path", /not a field/, { pattern: get("/{inner}") }],
  ])("%s", (_, why, rule, isStream) => {
    expect(() => bindingsOf(methodOf(rule, isStream))).toThrow(why)
  })

  test("unless it is supported", () => {
    expect(bindingsOf(methodOf({ pattern: get("/a/{name}:do") })).map(routeOf)).toEqual(["/a/{name}:do"])
    expect(bindingsOf(methodOf({ pattern: post("/a"), body: "*", selector: "secret" }))).toHaveLength(1)
  })
})
