import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { expect, test } from "vitest"
import { failureOf, isFailure, isSignetError, needsSignIn, retryAfterOf, SignetError } from "./errors.ts"

function refused(reason: string, domain = "signet"): ConnectError {
  const error = new ConnectError("refused", Code.PermissionDenied, { "retry-after": "2" })
  error.details.push({ desc: ErrorInfoSchema, value: { reason, domain, metadata: { scope: "notes.read" } } })
  return error
}

test("a failure is found in the chain of causes", () => {
  const error = new Error("outer", { cause: new Error("inner", { cause: refused("MISSING_SCOPE") }) })
  expect(failureOf(error)).toEqual({
    reason: "MISSING_SCOPE",
    code: Code.PermissionDenied,
    metadata: { scope: "notes.read" },
    retryAfterMs: 2_000,
  })
  expect(failureOf(new SignetError("UNREACHABLE", "no answer"))).toMatchObject({ code: Code.Unavailable })
})

test.each<[string, unknown]>([
  ["another domain's", refused("MISSING_SCOPE", "example.com")],
  ["a text that is not a reason", refused("missing a scope")],
  ["an unrelated error", new TypeError("x")],
  ["no error", undefined],
])("%s is none of ours", (_, error) => {
  expect([failureOf(error), isFailure(error), needsSignIn(error)]).toEqual([undefined, false, false])
})

test("a cyclic cause terminates", () => {
  const error = new Error("round")
  error.cause = error
  expect(failureOf(error)).toBeUndefined()
})

test("isFailure and isSignetError check reasons", () => {
  const error = new SignetError("SESSION_REVOKED", "ended")
  expect([isFailure(error), isFailure(error, "MISSING_SCOPE", "SESSION_REVOKED")]).toEqual([true, true])
  expect([isFailure(error, "MISSING_SCOPE"), isSignetError(error, "LOCK_BUSY")]).toEqual([false, false])
  expect([isSignetError(error), isSignetError(refused("MISSING_SCOPE")), needsSignIn(error)]).toEqual([
    true,
    false,
    true,
  ])
})

test("needsSignIn is true without a session, after its end and for a step-up, but not for a missing scope", () => {
  const reasons = ["NOT_SIGNED_IN", "STEP_UP_REQUIRED", "SESSION_EXPIRED", "MISSING_SCOPE", "UNREACHABLE"] as const
  expect(reasons.map((reason) => needsSignIn(new SignetError(reason, "no")))).toEqual([true, true, true, false, false])
})

test("isSignetError accepts the errors of another copy of the package, and nothing that only looks like one", () => {
  const other = Object.assign(new Error("ended"), { name: "SignetError", reason: "SESSION_REVOKED" })
  expect([isSignetError(other), isSignetError(other, "LOCK_BUSY", "SESSION_REVOKED")]).toEqual([true, true])
  const nameless = Object.assign(new Error("ended"), { name: "SignetError" })
  for (const value of [nameless, { name: "SignetError", reason: "SESSION_REVOKED" }, undefined, null]) {
    expect(isSignetError(value)).toBe(false)
  }
})

test.each(["soon", "Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1.5", "10000000"])(
  "a Retry-After of %j is no wait",
  (text) => {
    expect(retryAfterOf(new ConnectError("busy", Code.Unavailable, { "retry-after": text }))).toBeUndefined()
  },
)
