import { expect, test } from "vitest"
import type { Principal } from "../records.ts"
import { isLockOver, isLockTime, longestLockMs, principalInactivity } from "./principal.ts"

test.each<[Principal["status"] | undefined, ReturnType<typeof principalInactivity>]>([
  ["ACTIVE", undefined],
  ["LOCKED", "PRINCIPAL_LOCKED"],
  ["SUSPENDED", "PRINCIPAL_INACTIVE"],
  ["DEACTIVATED", "PRINCIPAL_INACTIVE"],
  ["DELETED", "PRINCIPAL_INACTIVE"],
  [undefined, "PRINCIPAL_INACTIVE"],
])("a principal that is %s: %s", (status, expected) => {
  expect(principalInactivity(status)).toBe(expected)
})

test("a lock ends in the future, within 30 days", () => {
  expect([9, 10, 11, 10 + longestLockMs, 11 + longestLockMs].map((ms) => isLockTime(ms, 10))).toEqual([
    false,
    false,
    true,
    true,
    false,
  ])
})

test("a lock expires at its time, and only a locked principal has one", () => {
  const lock = { expiresAtMs: 10, reason: "" }
  expect([9, 10].map((nowMs) => isLockOver({ status: "LOCKED", lock }, nowMs))).toEqual([false, true])
  expect(isLockOver({ status: "SUSPENDED", lock }, 11)).toBe(false)
  expect(isLockOver({ status: "LOCKED" }, 0)).toBe(true)
})
