// Compares the grant check with Cedar, an independent and formally verified authorizer (https://www.cedarpolicy.com).
import fc from "fast-check"
import { expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { cedarOf } from "../../../test/support/grants/cedar.ts"
import { grantModels } from "../../../test/support/grants/model.ts"
import { authorize } from "./authorize.ts"
import { isHeldOn } from "./effective.ts"
import { question, user } from "./testing.ts"

test("Cedar agrees on random apps, tenants, contexts, resources, roles, grants and scopes", () => {
  const seen = { allow: 0, deny: 0 }
  fc.assert(
    fc.property(grantModels, (model) => {
      const { snapshot, scopes, nowMs, permission, place, resource } = model
      const askCedar = cedarOf(model)
      const held = isHeldOn(snapshot, { scopes, nowMs }, permission, resource)
      expect(held ? "allow" : "deny").toBe(askCedar(resource, false))
      const decision = authorize({
        ...question,
        context: { ...user, ...place, scopes },
        requirement: { is: "resourceAction", action: permission, type: resource.type, from: "PATH", field: "id" },
        request: { resources: new Map([[`${resource.type} PATH id`, resource]]) },
        snapshot,
      })
      const cedars = askCedar(resource, true)
      expect(decision.allow ? "allow" : "deny").toBe(cedars)
      seen[cedars]++
    }),
    { numRuns: effort(100, 5_000, 100_000) },
  )
  // Both outcomes must be frequent, or the comparison proves nothing.
  expect(Math.min(seen.allow, seen.deny)).toBeGreaterThan(effort(2, 250, 5_000))
})
