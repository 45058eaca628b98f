import { expect, test } from "vitest"
import { parsePlace } from "./settings.ts"

const tenantId = `ten_${"0".repeat(26)}`
const contextId = `ctx_${"1".repeat(26)}`

test.each([
  ["the app as a whole", "", {}],
  ["a tenant", tenantId, { tenantId }],
  ["a context of the app", contextId, { contextId }],
  ["a context of a tenant", `${tenantId}/${contextId}`, { tenantId, contextId }],
  ["an id that is cut off", tenantId.slice(0, -1), undefined],
  ["two ids without a slash", tenantId + contextId, undefined],
  ["the wrong order", `${contextId}/${tenantId}`, undefined],
  ["a slash alone", "/", undefined],
  ["another kind of id", `app_${"0".repeat(26)}`, undefined],
])("the place of a sign-in: %s", (_, text, place) => {
  expect(parsePlace(text)).toEqual(place)
})
