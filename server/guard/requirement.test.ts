import { create } from "@bufbuild/protobuf"
import { FieldDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import { describe as describeRequirement, type Requirement } from "@signet/kernel/authz/requirement"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { Freshness_OnStale, Source } from "@signet/proto/authz/v1/requirement"
import { describe, expect, test } from "vitest"
import { fieldOf } from "./field.ts"
import { requirementOf } from "./requirement.ts"
import { methodWith, type Requires } from "./testing/methods.ts"

const scope = (value: string): Requires => ({ check: { case: "scope", value } })
const anyOf = (...of: Requires[]): Requires => ({ check: { case: "anyOf", value: { of } } })
const allOf = (...of: Requires[]): Requires => ({ check: { case: "allOf", value: { of } } })
const kinds = (...of: number[]): Requires => ({ check: { case: "kinds", value: { of: of as PrincipalKind[] } } })
const tenant = (from: number, field: string): Requires => ({
  check: { case: "tenant", value: { from: from as Source, field } },
})
const onNote = (from: Source, field: string, action = "notes.note.edit", type = "note"): Requires => ({
  check: { case: "resourceAction", value: { action, type, from, field } },
})
const delegated = (...actors: string[]): Requires => ({ check: { case: "delegated", value: { actors } } })

describe("a requirement is parsed from the contract", () => {
  test.each<[string, Requires, Requirement]>([
    ["public", { check: { case: "public", value: true } }, { is: "public" }],
    ["body credential", { check: { case: "bodyCredential", value: true } }, { is: "bodyCredential" }],
    ["scope", scope("a"), { is: "scope", scope: "a" }],
    ["action", { check: { case: "action", value: "a.b.c" } }, { is: "action", action: "a.b.c" }],
    [
      "an action on a resource",
      onNote(Source.BODY, "note.id"),
      { is: "resourceAction", action: "notes.note.edit", type: "note", from: "BODY", field: "note.id" },
    ],
    ["kinds", kinds(PrincipalKind.USER, PrincipalKind.SERVICE), { is: "kinds", of: ["USER", "SERVICE"] }],
    ["a device", { check: { case: "device", value: { proof: false } } }, { is: "device", proof: false }],
    [
      "a device that proves itself",
      { check: { case: "device", value: { proof: true } } },
      { is: "device", proof: true },
    ],
    ["the token's tenant", tenant(Source.TOKEN, ""), { is: "tenant", from: "TOKEN", field: "" }],
    ["a header's tenant", tenant(Source.HEADER, "x-tenant"), { is: "tenant", from: "HEADER", field: "x-tenant" }],
    ["a field's tenant", tenant(Source.PATH, "tenant_id"), { is: "tenant", from: "PATH", field: "tenant_id" }],
    ["delegated", delegated("svc-a", "svc-b"), { is: "delegated", actors: ["svc-a", "svc-b"] }],
    [
      "composites with options",
      {
        ...anyOf(scope("a"), allOf(scope("b"), { ...kinds(1), allowDelegated: true })),
        maxAuthAgeSeconds: 60,
        freshness: { maxStaleness: { seconds: 10n, nanos: 500_000_000 }, onStale: Freshness_OnStale.INTROSPECT },
      },
      {
        is: "anyOf",
        of: [
          { is: "scope", scope: "a" },
          {
            is: "allOf",
            of: [
              { is: "scope", scope: "b" },
              { is: "kinds", of: ["USER"], allowDelegated: true },
            ],
          },
        ],
        maxAuthAgeSeconds: 60,
        freshness: { maxStalenessMs: 10_500, onStale: "INTROSPECT" },
      },
    ],
    [
      "an unsaid on_stale is DENY",
      { ...scope("a"), freshness: { maxStaleness: { seconds: 0n } } },
      { is: "scope", scope: "a", freshness: { maxStalenessMs: 0, onStale: "DENY" } },
    ],
  ])("%s", (_, wire, expected) => {
    expect(requirementOf(methodWith(wire))).toEqual(expected)
  })

  test("of every method of the contract", () => {
    const methods = [AuthService, SessionService, TokenService].flatMap((service) => service.methods)
    const table = methods.map((method) => `${method.name}: ${describeRequirement(requirementOf(method))}`)
    expect(table).toContain("ExternalLogin: public")
    expect(table).toContain("Refresh: credential in the body")
    expect(table).toContain("Me: kinds(USER)")
  })
})

describe("the program does not start with", () => {
  test.each<[string, Requires | undefined, RegExp]>([
    ["a method without requirement", undefined, /test\.TestService\.M0: no \(signet\.authz\.v1\.requires\)/],
    ["a requirement without check", {}, /must have a check/],
    ["public: false", { check: { case: "public", value: false } }, /false/],
    ["body_credential: false", { check: { case: "bodyCredential", value: false } }, /false/],
    ["an empty any_of", anyOf(), /an empty anyOf/],
    ["an empty all_of", allOf(), /an empty allOf/],
    ["an empty one inside", allOf(scope("a"), anyOf()), /an empty anyOf/],
    ["public inside a composite", anyOf(scope("a"), { check: { case: "public", value: true } }), /public inside/],
    [
      "a public method that asks for fresh facts",
      { check: { case: "public", value: true }, freshness: { maxStaleness: { seconds: 1n } } },
      /no token/,
    ],
    [
      "a body credential that asks for fresh facts",
      { check: { case: "bodyCredential", value: true }, freshness: { maxStaleness: { seconds: 1n } } },
      /no token/,
    ],
    [
      "a body credential that asks for a recent sign-in",
      { check: { case: "bodyCredential", value: true }, maxAuthAgeSeconds: 60 },
      /no token/,
    ],
    ["a body credential inside", allOf({ check: { case: "bodyCredential", value: true } }), /bodyCredential inside/],
    ["public deep inside", anyOf(allOf({ check: { case: "public", value: true } })), /public inside/],
    ["public with a sign-in age", { check: { case: "public", value: true }, maxAuthAgeSeconds: 5 }, /no token/],
    ["an empty scope", scope(""), /an empty scope/],
    ["an action that is none", { check: { case: "action", value: "edit" } }, /service\.resource\.verb/],
    ["no kind", kinds(), /at least one kind/],
    ["an unspecified kind", kinds(0), /unknown kind 0/],
    ["an unknown kind", kinds(99), /unknown kind 99/],
    ["an unspecified source", tenant(0, "tenant_id"), /unknown source 0/],
    ["an unknown source", tenant(99, "tenant_id"), /unknown source 99/],
    ["a tenant field that the request has not", tenant(Source.BODY, "tenant"), /no field "tenant"/],
    ["a tenant field by its JSON name", tenant(Source.BODY, "tenantId"), /no field "tenantId"/],
    ["a path through no message", tenant(Source.BODY, "tenant_id.x"), /no field "tenant_id.x"/],
    ["a number for an id", tenant(Source.BODY, "count"), /not a singular string field/],
    ["a list for an id", tenant(Source.BODY, "many"), /not a singular string field/],
    ["a message for an id", tenant(Source.BODY, "note"), /not a singular string field/],
    ["a field for the token's tenant", tenant(Source.TOKEN, "tenant_id"), /has no field/],
    ["no field for the tenant", tenant(Source.PATH, ""), /an empty field/],
    ["a header that is none", tenant(Source.HEADER, "x tenant"), /no header/],
    ["a graph's tenant", tenant(Source.GRAPH, "tenant"), /no graph/],
    ["a resource in the token", onNote(Source.TOKEN, "x"), /names no resource/],
    ["a resource without type", onNote(Source.BODY, "note.id", "a.b.c", ""), /an empty type/],
    ["a resource field that is wrong inside a composite", allOf(onNote(Source.BODY, "note.x")), /no field "note.x"/],
    ["a resource field that is wrong inside another", anyOf(onNote(Source.BODY, "note.x")), /no field "note.x"/],
    ["nobody to delegate to", delegated(), /at least one actor/],
    ["an empty actor", delegated(""), /an empty actor/],
    ["freshness without an age", { ...scope("a"), freshness: {} }, /without max_staleness/],
    ["a negative age", { ...scope("a"), freshness: { maxStaleness: { seconds: -1n } } }, /negative/],
    [
      "an unknown on_stale",
      { ...scope("a"), freshness: { maxStaleness: { seconds: 1n }, onStale: 9 as Freshness_OnStale } },
      /unknown on_stale 9/,
    ],
  ])("%s", (_, wire, message) => {
    expect(() => requirementOf(methodWith(wire))).toThrow(message)
  })

  test("a field of a stream of requests", () => {
    const wire = tenant(Source.BODY, "tenant_id")
    expect(() => requirementOf(methodWith(wire, { client: true }))).toThrow(/client stream/)
    expect(requirementOf(methodWith(wire, { server: true }))).toMatchObject({ is: "tenant" })
  })
})

describe("a requirement as one line", () => {
  test.each<[string, Requires]>([
    ["kinds(USER or SERVICE)", kinds(1, 2)],
    ["scope(a) or (scope(b) and scope(c))", anyOf(scope("a"), allOf(scope("b"), scope("c")))],
    ["action(notes.note.edit on note from BODY note.id)", onNote(Source.BODY, "note.id")],
    ["tenant(TOKEN)", tenant(Source.TOKEN, "")],
    ["on behalf by(svc-a)", delegated("svc-a")],
    ["(scope(a), signed in within 60 s) and scope(b)", allOf({ ...scope("a"), maxAuthAgeSeconds: 60 }, scope("b"))],
    ["scope(a), or on behalf", { ...scope("a"), allowDelegated: true }],
    ["scope(a), fresh(1000 ms, DENY)", { ...scope("a"), freshness: { maxStaleness: { seconds: 1n } } }],
  ])("%s", (text, wire) => {
    expect(describeRequirement(requirementOf(methodWith(wire)))).toBe(text)
  })
})

test("a field with presence that is set to nothing names nothing", () => {
  const read = fieldOf(FieldDescriptorProtoSchema, "name")
  expect(read(create(FieldDescriptorProtoSchema, { name: "" }))).toBeUndefined()
  expect(read(create(FieldDescriptorProtoSchema, { name: "x" }))).toBe("x")
})
