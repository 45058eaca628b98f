import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { expect, test } from "vitest"
import { failureOf, isFailure, isSignetError, needsSignIn, SignetError } from "./errors.ts"

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
