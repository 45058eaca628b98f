import type { Requirement } from "@signet/kernel/authz/requirement"
import { newId } from "@signet/kernel/ids"
import { expect, test, vi } from "vitest"
import { type FetchGuardOptions, guardFetch } from "./fetch.ts"
import { createGuard } from "./guard.ts"
import { createLocalKeySet } from "./key-set.ts"
import { createIssuer, ids } from "./testing/issuer.ts"
import { webTokenCrypto } from "./token-crypto.ts"

const issuer = createIssuer()
const guard = createGuard({ ...issuer, keySet: createLocalKeySet(issuer, webTokenCrypto) })
const reads: Requirement = { is: "scope", scope: "notes.read" }
const tenant = (from: "PATH" | "BODY" | "HEADER", field: string): Requirement => ({ is: "tenant", from, field })
const inTenant = { authorization: `Bearer ${issuer.token({ tenant_id: ids.tenant })}` }

function handler(requirement: Requirement, options: Partial<FetchGuardOptions> = {}) {
  return guardFetch({ guard, requirement, ...options }, async (request, { caller, path }) =>
    Response.json({ caller: caller?.principal.id, path: [...path], body: await request.text() }),
  )
}

const post = (body: string, type = "application/json") =>
  new Request("https://notes.example/notes", {
    method: "POST",
    body,
    headers: { ...inTenant, "content-type": type },
  })

const status = async (answer: Promise<Response>) => (await answer).status

test("a caller who meets the requirement reaches the handler, which receives the caller", async () => {
  const headers = { authorization: `Bearer ${issuer.token()}` }
  const answer = await handler(reads)(new Request("https://notes.example/", { headers }))
  expect(await answer.json()).toEqual({ caller: ids.principal, path: [], body: "" })
})

test("a denial is a problem with a challenge, and is not cached", async () => {
  const headers = { authorization: `Bearer ${issuer.token({ scp: [] })}` }
  const answer = await handler(reads)(new Request("https://notes.example/", { headers }))
  expect(answer.status).toBe(403)
  expect(Object.fromEntries(answer.headers)).toEqual({
    "cache-control": "no-store",
    "content-type": "application/problem+json",
    "www-authenticate": 'Bearer realm="signet", error="insufficient_scope", scope="notes.read"',
  })
  expect(await answer.json()).toEqual({
    type: "urn:signet:reason:MISSING_SCOPE",
    title: "the access token does not have the required scope",
    status: 403,
    detail: "the access token does not have the required scope",
    reason: "MISSING_SCOPE",
    domain: "signet",
    metadata: { scope: "notes.read" },
  })
})

test("onDeny is called for a denial only", async () => {
  const heard: unknown[] = []
  const ask = handler(reads, { onDeny: (deny, caller) => heard.push([deny.trueReason, caller]) })
  await ask(new Request("https://notes.example/"))
  await ask(new Request("https://notes.example/", { headers: inTenant }))
  expect(heard).toEqual([["NO_CREDENTIAL", "NO_CREDENTIAL"]])
})

test("a path variable is read by the template, decoded, and passed on to the handler", async () => {
  const ask = handler(tenant("PATH", "tenant_id"), { path: "/tenants/{tenant_id}/notes" })
  const get = (path: string) => ask(new Request(`https://notes.example${path}`, { headers: inTenant }))
  const encoded = ids.tenant.replace("_", "%5F")
  expect(await (await get(`/tenants/${encoded}/notes`)).json()).toMatchObject({ path: [["tenant_id", ids.tenant]] })
  expect(await status(get("/tenants/ten_other/notes"))).toBe(403)
  for (const other of ["/tenants", `/tenants/${ids.tenant}/notes/`, "/tenants//notes", "/tenants/%ff/notes"]) {
    expect(await status(get(other)), other).toBe(404)
  }
})

test.each([
  ["as the schema writes it", JSON.stringify({ tenant_id: ids.tenant }), 200],
  ["as proto3 JSON writes it", JSON.stringify({ tenantId: ids.tenant }), 200],
  ["both ways", JSON.stringify({ tenant_id: ids.tenant, tenantId: "ten_other" }), 403],
  ["and in other capitals", JSON.stringify({ tenant_id: ids.tenant, TENANT_ID: "ten_other" }), 403],
  ["in lowerCamelCase, and in capitals", JSON.stringify({ tenantId: ids.tenant, TENANT_ID: "ten_other" }), 403],
  ["in capitals alone", JSON.stringify({ TENANT_ID: ids.tenant }), 403],
  ["twice", `{"tenant_id":"ten_other","tenant_id":"${ids.tenant}"}`, 403],
  ["twice, once with an escape", `{"tenant\\u005fid":"ten_other","tenant_id":"${ids.tenant}"}`, 403],
  ["in a list", JSON.stringify([{ tenant_id: ids.tenant }]), 403],
  ["in a body that is too long", JSON.stringify({ tenant_id: ids.tenant, x: "x".repeat(100_000) }), 403],
  ["in what is no JSON", `tenant_id=${ids.tenant}`, 403],
])("a tenant in the body, %s", async (_, body, expected) => {
  const answer = await handler(tenant("BODY", "tenant_id"))(post(body))
  expect(answer.status).toBe(expected)
  // The handler can read the body again after the guard.
  if (expected === 200) expect(await answer.json()).toMatchObject({ body })
})

test("a body without a JSON content type is not read as JSON", async () => {
  const body = JSON.stringify({ tenant_id: ids.tenant })
  expect(await status(handler(tenant("BODY", "tenant_id"))(post(body, "text/plain")))).toBe(403)
})

test("a repeated header names no tenant", async () => {
  const headers = new Headers({ ...inTenant, "x-tenant": ids.tenant })
  const ask = () => handler(tenant("HEADER", "x-tenant"))(new Request("https://notes.example/", { headers }))
  expect(await status(ask())).toBe(200)
  headers.append("x-tenant", ids.tenant)
  expect(await status(ask())).toBe(403)
})

test("the body is not read without a known caller", async () => {
  const request = new Request("https://notes.example/", {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  })
  expect(await status(handler(tenant("BODY", "tenant_id"))(request))).toBe(401)
  expect(request.bodyUsed).toBe(false)
})

test.each<[string, Requirement]>([
  ["a scope", reads],
  ["a tenant in a header", tenant("HEADER", "x-tenant")],
])("a requirement of %s leaves the body unread", async (_, requirement) => {
  const request = post("{}")
  request.headers.set("authorization", `Bearer ${issuer.token({ tenant_id: ids.tenant, scp: ["notes.read"] })}`)
  request.headers.set("x-tenant", ids.tenant)
  const clone = vi.spyOn(request, "clone")
  expect(await status(handler(requirement)(request))).toBe(200)
  expect(clone).not.toHaveBeenCalled()
})

test("a resource is looked up by the request's id, and the store's record decides", async () => {
  const requirement: Requirement = { is: "resourceAction", action: "a.b.c", type: "note", from: "PATH", field: "id" }
  const asked: string[][] = []
  const findResource = async (...of: [string, string]) => {
    asked.push(of)
    return undefined
  }
  const ask = handler(requirement, { path: "/notes/{id}", findResource })
  const answer = await ask(new Request("https://notes.example/notes/n1", { headers: inTenant }))
  expect(await answer.json()).toMatchObject({ reason: "RESOURCE_UNRESOLVED" })
  expect(asked).toEqual([["note", "n1"]])
})

test.each<[string, Requirement, string?]>([
  ["names a path variable that the route has not", tenant("PATH", "tenant_id"), "/notes/{note_id}"],
  ["names a path variable without a route", tenant("PATH", "tenant_id")],
  ["names a header in capitals", tenant("HEADER", "X-Tenant")],
  ["asks a graph", { is: "tenant", from: "GRAPH", field: "tenant" }],
  ["asks for a proof that nobody here can verify", { is: "device", proof: true }],
  ["has public in a composite", { is: "anyOf", of: [{ is: "public" }] }],
  ["names a resource in the token", { is: "resourceAction", action: "a.b.c", type: "n", from: "TOKEN", field: "" }],
])("a requirement that %s stops the program", (_, requirement, path) => {
  expect(() => handler(requirement, path === undefined ? {} : { path })).toThrow()
})

test("a tenant on which path, body, header and token disagree is refused", async () => {
  const requirement: Requirement = {
    is: "allOf",
    of: [tenant("PATH", "tenant_id"), tenant("BODY", "tenant_id"), tenant("HEADER", "x-tenant")],
  }
  const ask = handler(requirement, { path: "/tenants/{tenant_id}" })
  const send = (path: string, body: string, header: string, own: string) =>
    ask(
      new Request(`https://notes.example/tenants/${path}`, {
        method: "POST",
        body: JSON.stringify({ tenant_id: body }),
        headers: {
          authorization: `Bearer ${issuer.token({ tenant_id: own })}`,
          "content-type": "application/json",
          "x-tenant": header,
        },
      }),
    )
  const own = ids.tenant
  const other = newId("ten", 2, new Uint8Array(10))
  expect(await status(send(own, own, own, own))).toBe(200)
  for (const named of [
    [other, own, own],
    [own, other, own],
    [own, own, other],
    [other, other, other],
    [other, own, other],
  ] as const) {
    const answer = await send(...named, own)
    expect(await answer.json()).toMatchObject({ reason: "TENANT_MISMATCH" })
  }
})
