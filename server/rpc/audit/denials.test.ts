import { expect, test } from "vitest"
import { isReason } from "./denials.ts"

test("a reason is a text that the contract names, and no property of every object", () => {
  expect(isReason("REFRESH_TOKEN_INVALID")).toBe(true)
  for (const value of ["NO_SUCH_REASON", "toString", "__proto__", "", 400, undefined])
    expect(isReason(value)).toBe(false)
})
