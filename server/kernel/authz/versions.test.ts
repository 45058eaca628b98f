import { expect, test } from "vitest"
import { isOutdated, permVerOf, versionClaims, versionsOf } from "./versions.ts"

test("a token carries the sum and the policy part, from which both parts are restored", () => {
  const versions = { principal: 5, policy: 7 }
  expect(versionClaims(versions)).toEqual({ perm_ver: 12, pol_ver: 7 })
  expect(versionsOf(versionClaims(versions))).toEqual(versions)
  expect(permVerOf(versions)).toBe(12)
})

test.each([
  ["is not told", { perm_ver: 12 }],
  ["is more than the sum", { perm_ver: 12, pol_ver: 13 }],
])("of a sum whose part %s nothing is believed", (_, claims) => {
  expect(versionsOf(claims)).toEqual({ principal: 0, policy: 0 })
})

test.each([
  ["at both minima", { principal: 5, policy: 7 }, false],
  ["after both", { principal: 6, policy: 8 }, false],
  ["before the principal's", { principal: 4, policy: 7 }, true],
  ["before the policy's", { principal: 5, policy: 6 }, true],
  // What a single sum could not detect: 4 + 9 is more than 5 + 7.
  ["before the principal's, with a sum that is higher", { principal: 4, policy: 9 }, true],
  ["before the policy's, with a sum that is higher", { principal: 9, policy: 6 }, true],
  ["not a number", { principal: Number.NaN, policy: 7 }, true],
])("a version %s is classified", (_, held, outdated) => {
  expect(isOutdated(held, { principal: 5, policy: 7 })).toBe(outdated)
})
