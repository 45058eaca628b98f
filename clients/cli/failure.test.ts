import { create } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { SecretBoxError, SignetError, secretBoxReasons } from "@signet/client"
import { type Reason, Refused } from "@signet/kernel/errors"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { describe, expect, test } from "vitest"
import { reportOf, usage } from "./failure.ts"

function refusedBy(code: Code, reason: string): ConnectError {
  const error = new ConnectError("a sentence", code)
  error.details.push({ desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: "signet" }) })
  return error
}

test.each<[number, string, unknown]>([
  [1, "a fault", new Error("boom")],
  [1, "a fault of the server", refusedBy(Code.Internal, "INTERNAL")],
  [2, "a usage error", usage("say it so")],
  [2, "a field that is not right", refusedBy(Code.InvalidArgument, "INVALID_FIELD")],
  [3, "nobody", new SignetError("NOT_SIGNED_IN", "nobody is signed in")],
  [3, "a session that ended", refusedBy(Code.Unauthenticated, "SESSION_REVOKED")],
  [3, "a wrong passphrase", new SecretBoxError("WRONG_PASSPHRASE", "no")],
  [4, "a scope that is missing", refusedBy(Code.PermissionDenied, "MISSING_SCOPE")],
  [4, "the same, found here", new Refused("MISSING_SCOPE")],
  [4, "a reason of a later server", refusedBy(Code.PermissionDenied, "REASON_OF_TOMORROW")],
  [5, "what is not there", refusedBy(Code.NotFound, "NOT_FOUND")],
  [6, "a conflict", refusedBy(Code.AlreadyExists, "AUDIENCE_TAKEN")],
  [7, "too often", refusedBy(Code.ResourceExhausted, "RATE_LIMITED")],
  [10, "no answer", new SignetError("UNREACHABLE", "the service did not answer")],
  [10, "no answer of ours", new ConnectError("connection refused", Code.Unavailable)],
  [10, "a locked store", new SecretBoxError("LOCKED", "locked")],
  [
    10,
    "a missing store as the cause of a client error",
    new SignetError("STORE_FAILED", "x", { cause: new SecretBoxError("SECURE_STORE_UNAVAILABLE", "none") }),
  ],
])("%i is %s", (code, _, error) => {
  expect(reportOf(error).exitCode).toBe(code)
})

describe("the printed error", () => {
  test("has the service's reason in the sentence and in the problem", () => {
    const report = reportOf(refusedBy(Code.PermissionDenied, "STEP_UP_REQUIRED"))
    expect(report.sentence).toBe("a sentence (STEP_UP_REQUIRED)")
    expect(report.hint).toContain("signet login")
    expect(report.problem).toMatchObject({ status: 403, reason: "STEP_UP_REQUIRED" satisfies Reason, domain: "signet" })
  })

  test("names the missing scope", () => {
    expect(reportOf(new Refused("MISSING_SCOPE", { metadata: { scope: "auth.apps.read" } })).hint).toContain(
      "auth.apps.read",
    )
  })

  test("has a hint for every state of the store", () => {
    for (const reason of secretBoxReasons.filter((one) => !/INVALIDATED|NEWER|INSECURE/.test(one))) {
      expect(reportOf(new SecretBoxError(reason, "x")).hint).toMatch(/signet|keyring/)
    }
  })

  test("has a hint for an unreachable server", () => {
    expect(reportOf(new ConnectError("connection refused", Code.Unavailable)).hint).toContain("signet profile list")
  })

  test("is never a stack", () => {
    expect(reportOf(new TypeError("x is not a function")).sentence).toBe("x is not a function (FAULT)")
    expect(reportOf("a text").sentence).toBe("it failed (FAULT)")
  })
})
