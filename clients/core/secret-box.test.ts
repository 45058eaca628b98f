import { expect, test } from "vitest"
import { isSecretBoxError, SecretBoxError } from "./secret-box.ts"

test("a box's error is known by its reason, also from another copy of the package", () => {
  const error = new SecretBoxError("KEY_MISSING", "no key")
  const other = Object.assign(new Error("no key"), { name: "SecretBoxError", reason: "KEY_MISSING" })
  for (const one of [error, other]) {
    expect([isSecretBoxError(one), isSecretBoxError(one, "KEY_MISSING")]).toEqual([true, true])
    expect(isSecretBoxError(one, "STATE_TAMPERED")).toBe(false)
  }
  const nameless = Object.assign(new Error("no key"), { name: "SecretBoxError" })
  for (const one of [nameless, new Error("no key"), { name: "SecretBoxError", reason: "KEY_MISSING" }, undefined]) {
    expect(isSecretBoxError(one)).toBe(false)
  }
})
