import { Code, ConnectError } from "@connectrpc/connect"
import { type Reason, Refused, refusals } from "@signet/kernel/errors"
import { DenialSchema } from "@signet/proto/authz/v1/denial"
import { Reason as WireReason } from "@signet/proto/authz/v1/reason"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { expect, test } from "vitest"
import { challengeOf } from "./challenge.ts"
import { connectErrorOf } from "./errors.ts"

const reasons = Object.keys(refusals) as Reason[]

test.each(reasons)("%s keeps its name on the wire", (reason) => {
  const error = connectErrorOf(new Refused(reason, { metadata: { field: "x" } }))
  expect(error).toBeInstanceOf(ConnectError)
  expect(error.findDetails(ErrorInfoSchema)[0]).toMatchObject({ reason, domain: "signet", metadata: { field: "x" } })
  const denial = error.findDetails(DenialSchema)[0]
  expect(denial?.statusCode).toBe(refusals[reason].status)
  expect(denial?.reason).toBe(WireReason[reason])
  // HTTP requires a challenge with every 401 (RFC 9110 section 15.5.2).
  if (refusals[reason].status === 401)
    expect(error.metadata.get("www-authenticate")).toMatch(/^(Bearer|Basic) realm="signet"/)
})

test("codes are those of the table", () => {
  expect(connectErrorOf(new Refused("MISSING_SCOPE")).code).toBe(Code.PermissionDenied)
  expect(connectErrorOf(new Refused("TOKEN_EXPIRED")).code).toBe(Code.Unauthenticated)
  expect(connectErrorOf(new Refused("METHOD_UNKNOWN")).code).toBe(Code.Unimplemented)
})

test.each<[string, Refused, string | undefined]>([
  ["no credential: a bare challenge", new Refused("NO_CREDENTIAL"), `Bearer realm="signet"`],
  [
    "a bad token: invalid_token",
    new Refused("TOKEN_EXPIRED"),
    `Bearer realm="signet", error="invalid_token", error_description="the access token has expired"`,
  ],
  [
    "a missing scope: which one",
    new Refused("MISSING_SCOPE", { metadata: { scope: "notes.read" } }),
    `Bearer realm="signet", error="insufficient_scope", scope="notes.read"`,
  ],
  [
    "step-up: how fresh",
    new Refused("STEP_UP_REQUIRED", { metadata: { max_age: "300" } }),
    `Bearer realm="signet", error="insufficient_user_authentication", max_age="300"`,
  ],
  ["any other 403: none", new Refused("TENANT_MISMATCH"), undefined],
  [
    "a value cannot end its quotes",
    new Refused("MISSING_SCOPE", { metadata: { scope: 'a"\r\nX: y\\' } }),
    `Bearer realm="signet", error="insufficient_scope", scope="aX: y"`,
  ],
])("challenge: %s", (_, refused, expected) => {
  expect(challengeOf(refused)).toBe(expected)
})
