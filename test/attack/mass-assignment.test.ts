// Mass assignment: a request cannot set a field that only the service sets.
import { type DescField, type DescMethod, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isClosed, type Use } from "../../server/rpc/field-behavior.ts"
import { bindingsOf } from "../../server/serving/rest/http-rule.ts"
import { administrationMethods, callRaw, type Ids, isRead, requestOf, snapshot } from "../support/administered.ts"
import { startAdministeredServer } from "../support/administered-server.ts"
import type { AdministeredWorld, AdministratorName } from "../support/administration.ts"
import { effort } from "../support/effort.ts"
import type { TestServer } from "../support/server.ts"

let server: TestServer
let world: AdministeredWorld
let own: Ids
let inTenant: Ids
beforeAll(async () => {
  ;({ server, world, own, inTenant } = await startAdministeredServer())
})
afterAll(() => server?.close())

const call = (method: DescMethod, request: JsonObject | string, by: AdministratorName) =>
  callRaw(server, method, request, world.as(by))
const named = (methods: readonly DescMethod[]) => methods.map((method) => [method.name, method] as const)

describe("a request cannot set the service's fields", () => {
  const writes = administrationMethods.filter((method) => !isRead(method))
  const useOf = ({ name }: DescMethod): Use => (name.startsWith("Create") ? "create" : "update")

  const closed = writes.flatMap((method) =>
    /^(Create|Update)/.test(method.name)
      ? method.input.fields.flatMap((outer) =>
          outer.fieldKind === "message"
            ? outer.message.fields
                .filter((field) => isClosed(field, useOf(method)))
                .map((field) => [`${method.name} ${outer.name}.${field.name}`, method, outer, field] as const)
            : [],
        )
      : [],
  )

  test("covers every method", () => {
    expect(new Set(closed.map(([, method]) => method.name)).size).toBe(
      writes.filter(({ name }) => /^(Create|Update)(?!Membership|Grant)/.test(name)).length + 1,
    )
  })

  let before: string
  beforeAll(async () => {
    before = await snapshot(server)
  })
  test.each(closed)("%s", async (_, method, outer, field) => {
    const request = requestOf(server, method, own)
    const thing = { ...(request[outer.jsonName] as JsonObject), [field.jsonName]: sampleOf(field) }
    const expected = [400, "OUTPUT_ONLY_FIELD", `${outer.name}.${field.name}`]
    const asked: JsonObject = { ...request, [outer.jsonName]: thing }
    const answer = await call(method, asked, "root")
    expect([answer.status, answer.reason, answer.field]).toEqual(expected)
    const rest = await overRest(method, asked)
    expect([rest.status, rest.reason, rest.metadata.field]).toEqual(expected)
    if (!method.name.startsWith("Update")) return
    const masked = await call(method, { ...request, updateMask: field.jsonName }, "root")
    expect([masked.status, masked.reason, masked.field]).toEqual(expected)
  })

  test("changes nothing", async () => {
    expect(await snapshot(server)).toBe(before)
  })

  // Names as text: in an object literal, `__proto__` would set the prototype.
  const strangers = ["__proto__", "permVer", "identityId", "isInstallation", "constructor"].slice(0, effort(2, 5, 5))
  test.each(named(administrationMethods))("%s refuses an unknown member", async (_, method) => {
    const request = JSON.stringify(requestOf(server, method, own))
    const comma = request === "{}" ? "" : ","
    for (const name of strangers) {
      const text = `{"${name}":{"status":"ACTIVE"}${comma}${request.slice(1)}`
      const answer = await call(method, text, "root")
      expect([name, answer.status, answer.reason]).toEqual([name, 400, "UNKNOWN_FIELD"])
    }
    for (const outer of method.input.fields.filter(({ message }) => message?.typeName.startsWith("signet."))) {
      const body = request.replace(`"${outer.jsonName}":{`, `"${outer.jsonName}":{"__proto__":{"status":"ACTIVE"},`)
      if (body === request) continue
      expect((await call(method, body, "root")).reason).toBe("UNKNOWN_FIELD")
    }
  })

  test("refuses a body that contradicts the path", async () => {
    const url = `${server.url}/auth/apps/${world.app.id}/tenants/${own.tenant_id}`
    const headers = { ...world.as("admin").headers, "content-type": "application/json" }
    for (const body of [{ tenantId: inTenant.tenant_id }, { appId: world.other.id }]) {
      const text = JSON.stringify({ ...body, tenant: { name: "Mine" } })
      const response = await fetch(url, { method: "PATCH", headers, body: text })
      expect([response.status, (await response.json()).reason]).toEqual([400, "FIELD_CONFLICT"])
    }
  })

  async function overRest(method: DescMethod, request: JsonObject) {
    const [binding] = bindingsOf(method)
    if (binding === undefined) throw new Error("no REST form")
    const body = { ...request }
    const path = binding.segments.map(({ literal, field, verb }) => {
      if (field === undefined) return `/${literal}`
      const text = encodeURIComponent(String(body[field.jsonName]))
      delete body[field.jsonName]
      return `/${text}${verb}`
    })
    const headers = { ...world.as("root").headers, "content-type": "application/json" }
    const options = { method: binding.verb, headers, body: JSON.stringify(body) }
    const response = await fetch(`${server.url}${path.join("")}`, options)
    return { status: response.status, ...(await response.json()) }
  }
})

/** Returns a value that is not the field's default. */
function sampleOf(field: DescField): JsonValue {
  if (field.fieldKind === "enum") return field.enum.values[1]?.name ?? ""
  if (field.fieldKind === "message") return "2030-01-01T00:00:00Z"
  if (field.fieldKind === "scalar" && field.scalar === ScalarType.BOOL) return true
  if (field.name === "tenant_id") return inTenant.tenant_id
  return field.name === "project_url" ? "https://project.example" : field.name === "key" ? "some.thing.do" : "some"
}
