import type { Requirement } from "@signet/kernel/authz/requirement"
import { expect, test } from "vitest"
import { createGuard } from "./guard.ts"
import { createLocalKeySet } from "./key-set.ts"
import { guardNext } from "./next.ts"
import { createIssuer, ids } from "./testing/issuer.ts"
import { webTokenCrypto } from "./token-crypto.ts"

const issuer = createIssuer()
const guard = createGuard({ ...issuer, keySet: createLocalKeySet(issuer, webTokenCrypto) })
const reads: Requirement = { is: "scope", scope: "notes.read" }
const withToken = (token: string) => ({ authorization: `Bearer ${token}` })
const request = (headers: Record<string, string> = {}) => new Request("https://notes.example/api/notes", { headers })

test("auth returns the caller in a route, and in a component from headers()", async () => {
  const { auth } = guardNext({ guard, requirement: reads })
  for (const source of [request(withToken(issuer.token())), new Headers(withToken(issuer.token()))]) {
    const { caller, refused } = await auth(source)
    expect([caller?.principal.id, refused]).toEqual([ids.principal, undefined])
  }
})

test("auth returns the response that refuses a call: a problem with a challenge, which is not cached", async () => {
  const { auth } = guardNext({ guard, requirement: reads })
  const refusals = [
    [{}, 401, "NO_CREDENTIAL"],
    [withToken(issuer.token({ scp: [] })), 403, "MISSING_SCOPE"],
    [withToken(`${issuer.token()}x`), 401, "SIGNATURE_INVALID"],
    // A middleware of Next once skipped its work for this header; the guard reads no such header.
    [{ "x-middleware-subrequest": "middleware" }, 401, "NO_CREDENTIAL"],
  ] as const
  for (const [headers, status, reason] of refusals) {
    const { caller, refused } = await auth(request(headers))
    expect([caller, refused?.status]).toEqual([undefined, status])
    expect(refused?.headers.get("cache-control")).toBe("no-store")
    expect(refused?.headers.get("www-authenticate")).toMatch(/^Bearer /)
    expect(await refused?.json()).toMatchObject({ reason })
  }
})

test("middleware continues for a caller who meets the requirement, and answers others", async () => {
  const { middleware } = guardNext({ guard, requirement: reads })
  expect(await middleware(request(withToken(issuer.token())))).toBeUndefined()
  expect((await middleware(request()))?.status).toBe(401)
})

test("a public route has no caller", async () => {
  const { auth } = guardNext({ guard, requirement: { is: "public" } })
  expect(await auth(request(withToken("stale")))).toEqual({ caller: undefined })
})

test("a requirement on a header is read, and one on a path or a body is refused when the helpers are created", async () => {
  const tenant = (from: "PATH" | "BODY" | "HEADER", field: string): Requirement => ({ is: "tenant", from, field })
  const { auth } = guardNext({ guard, requirement: tenant("HEADER", "x-tenant") })
  const token = withToken(issuer.token({ tenant_id: ids.tenant }))
  expect((await auth(request({ ...token, "x-tenant": ids.tenant }))).refused).toBeUndefined()
  expect((await auth(request({ ...token, "x-tenant": "ten_other" }))).refused?.status).toBe(403)
  expect((await auth(request(token))).refused?.status).toBe(403)
  expect(() => guardNext({ guard, requirement: tenant("PATH", "tenant_id") })).toThrow("PATH")
  expect(() => guardNext({ guard, requirement: tenant("BODY", "tenant_id") })).toThrow("BODY")
})
