import { expect, test } from "vitest"
import type { Level } from "./access.tsx"
import { appParts, refusalOf, usableParts } from "./offer.ts"

const levels = ["context", "tenant", "app", "installation"] as const
const token = (level: Level, ...scopes: string[]) => ({
  scopes: new Set(scopes),
  reaches: (wanted: Level) => levels.indexOf(level) >= levels.indexOf(wanted),
})
const everyScope = Object.values(appParts).flatMap(({ scopes }) => scopes)

test.each<[Level, readonly string[]]>([
  ["installation", Object.keys(appParts)],
  ["app", Object.keys(appParts)],
  ["tenant", ["tenants", "contexts", "members", "invitations", "roles", "permissions", "grants"]],
  ["context", ["contexts", "members", "invitations", "roles", "permissions", "grants"]],
])("a token of the level %s with every scope can use the parts that its calls reach", (level, parts) => {
  expect(usableParts(token(level, ...everyScope))).toEqual(parts)
})

test("a refusal names the level before the scope, because no scope would help", () => {
  expect(refusalOf({ scopes: ["auth.apps.read"], level: "app" }, token("tenant"))).toEqual({
    is: "level",
    level: "app",
  })
})

test("one of several scopes is enough, and without any the refusal names them all", () => {
  const needs = { scopes: ["auth.members.read", "auth.grants.read"] }
  expect(refusalOf(needs, token("context", "auth.grants.read"))).toBeUndefined()
  expect(refusalOf(needs, token("app", "auth.audit.read"))).toEqual({ is: "scope", scopes: needs.scopes })
  expect(refusalOf({}, token("context"))).toBeUndefined()
})
