import { describe, expect, test } from "vitest"
import { type Reason, refusals } from "../errors.ts"
import { oauthErrorOf, oauthErrors } from "./oauth-error.ts"

describe("the OAuth code of a refusal is", () => {
  test.each<[Reason, string]>([
    ["CLIENT_INVALID", "invalid_client"],
    ["CLIENT_NOT_ALLOWED", "unauthorized_client"],
    ["GRANT_TYPE_UNSUPPORTED", "unsupported_grant_type"],
    ["AUDIENCE_NOT_ALLOWED", "invalid_target"],
    ["SCOPE_NOT_GRANTED", "invalid_scope"],
    ["PAT_INVALID", "invalid_grant"],
    ["SUBJECT_TOKEN_INVALID", "invalid_grant"],
    ["DELEGATION_EXPIRED", "invalid_grant"],
    ["DELEGATION_NOT_ALLOWED", "access_denied"],
    ["MISSING_SCOPE", "insufficient_scope"],
    ["RATE_LIMITED", "slow_down"],
    ["UNAVAILABLE", "temporarily_unavailable"],
    ["DEADLINE_EXCEEDED", "temporarily_unavailable"],
    ["INTERNAL", "server_error"],
    ["TOKEN_EXPIRED", "invalid_token"],
    ["DUPLICATE_FIELD", "invalid_request"],
    ["UNSUPPORTED_MEDIA_TYPE", "invalid_request"],
    ["BODY_TOO_LARGE", "invalid_request"],
  ])("%s: %s", (reason, error) => {
    expect(oauthErrorOf(reason, {})).toBe(error)
  })

  test("the one in its metadata", () => {
    expect(oauthErrorOf("TOKEN_EXPIRED", { error: "invalid_grant" })).toBe("invalid_grant")
    expect(oauthErrorOf("TOKEN_EXPIRED", { error: "__proto__" })).toBe("invalid_token")
  })

  test.each(Object.keys(refusals) as Reason[])("%s: a code with an error status", (reason) => {
    expect(oauthErrors[oauthErrorOf(reason, {})]).toBeGreaterThanOrEqual(400)
  })
})
