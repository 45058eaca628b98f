// Thrown values become refusals, and only faults are reported.
import { Code, ConnectError } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { expect, test } from "vitest"
import { reasonOf, refusalError, toConnectError } from "./errors.ts"
import { oauthFailure } from "./rest/oauth-failure.ts"

const cause = new Error("of the database at 10.0.0.1")
const foreign = new ConnectError("of another service", Code.Unknown, undefined, [
  { desc: ErrorInfoSchema, value: { domain: "elsewhere", reason: "NOT_FOUND" } },
])

test.each<[string, unknown, string, unknown[]]>([
  ["a refusal", new Refused("NOT_FOUND", { cause }), "NOT_FOUND", []],
  ["an internal refusal", new Refused("INTERNAL", { cause }), "INTERNAL", [cause]],
  ["an outage with a cause", new Refused("UNAVAILABLE", { cause }), "UNAVAILABLE", [cause]],
  ["an announced outage", new Refused("UNAVAILABLE"), "UNAVAILABLE", []],
  ["a refusal that was converted", refusalError(new Refused("NOT_FOUND")), "NOT_FOUND", []],
  ["a refusal of Connect", new ConnectError("late", Code.DeadlineExceeded), "DEADLINE_EXCEEDED", []],
  ["another error of Connect", foreign, "INTERNAL", [foreign]],
  ["an error", cause, "INTERNAL", [cause]],
])("%s becomes one reason, and only faults are reported", (_, thrown, reason, reported) => {
  const faults: unknown[] = []
  const error = toConnectError(thrown, (fault) => faults.push(fault))
  expect([reasonOf(error), faults]).toEqual([reason, reported])
  expect(error.message).not.toContain("10.0.0.1")
})

test("an unknown reason is none", () => {
  const info = { domain: "signet", reason: "toString" }
  expect(reasonOf(new ConnectError("x", Code.Unknown, undefined, [{ desc: ErrorInfoSchema, value: info }]))).toBe(
    undefined,
  )
})

test("an OAuth answer to a fault reveals no detail", () => {
  const { body } = oauthFailure(refusalError(new Refused("INTERNAL", { message: "10.0.0.1" })), "id", undefined)
  expect(JSON.parse(body)).toMatchObject({ error: "server_error", reason: "INTERNAL" })
  expect(body).not.toContain("10.0.0.1")
})
