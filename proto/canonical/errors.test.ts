import { expect, test } from "vitest"
import { CanonicalError, canonicalCodes, rethrowAs } from "./errors.ts"

test("no code is listed twice", () => {
  expect(new Set<string>(canonicalCodes).size).toBe(canonicalCodes.length)
})

test("an encoding error becomes the kind's error, with its cause", () => {
  const cause = new CanonicalError("CPB_TRAILING")
  const refuse = () =>
    rethrowAs("CRED_MALFORMED", () => {
      throw cause
    })
  expect(refuse).toThrow(
    expect.objectContaining({ code: "CRED_MALFORMED", cause, message: "CRED_MALFORMED: CPB_TRAILING" }),
  )
})

test("a defect is not converted to a refusal", () => {
  const defect = new TypeError("a defect")
  const refuse = () =>
    rethrowAs("CRED_MALFORMED", () => {
      throw defect
    })
  expect(refuse).toThrow(defect)
})
