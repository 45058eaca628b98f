import { Refused } from "@signet/kernel/errors"
import { expect, test } from "vitest"
import { errorCodeOf, isFromProject, type Question, readSent, readSession, readUser } from "./idp-c-answer.ts"

const meaning = (read: () => unknown): string => {
  try {
    return String(read() ?? "done")
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return [error.reason, ...Object.values(error.metadata)].join(" ")
  }
}

type Row = [name: string, question: Question, status: number, body: unknown, code: string, meaning: string]

const wrong = { code: 400, error_code: "invalid_credentials", msg: "Invalid login credentials" }
const limit = "For security purposes, you can only request this after 42 seconds."

test.each<Row>([
  ["a wrong password", "password", 400, wrong, "invalid_credentials", "INVALID_CREDENTIALS"],
  [
    "a wrong password, by version",
    "password",
    400,
    { code: "invalid_credentials", message: "Invalid login credentials" },
    "invalid_credentials",
    "INVALID_CREDENTIALS",
  ],
  [
    "a wrong password, in a sentence",
    "password",
    400,
    { error: "invalid_grant", error_description: "Invalid login credentials" },
    "invalid_credentials",
    "INVALID_CREDENTIALS",
  ],
  [
    "any other refusal of a grant",
    "password",
    400,
    { error: "invalid_grant", error_description: "No user found" },
    "invalid_credentials",
    "INVALID_CREDENTIALS",
  ],
  ["a banned person", "password", 400, { code: "user_banned" }, "user_banned", "INVALID_CREDENTIALS"],
  ["no email", "password", 400, { code: "validation_failed" }, "validation_failed", "INVALID_CREDENTIALS"],
  [
    "an address not shown",
    "password",
    400,
    { code: "email_not_confirmed" },
    "email_not_confirmed",
    "EMAIL_NOT_VERIFIED",
  ],
  [
    "an address not shown, in a sentence",
    "password",
    400,
    { error: "invalid_grant", error_description: "Email not confirmed" },
    "email_not_confirmed",
    "EMAIL_NOT_VERIFIED",
  ],
  ["too many", "password", 429, { code: "over_request_rate_limit" }, "over_request_rate_limit", "RATE_LIMITED 60"],
  [
    "too many, in a sentence",
    "password",
    429,
    { code: 429, msg: "Rate limit exceeded" },
    "over_request_rate_limit",
    "RATE_LIMITED 60",
  ],
  ["too many, by the gateway", "password", 429, {}, "", "RATE_LIMITED 60"],
  ["the gateway refuses the key", "password", 401, { message: "Invalid API key" }, "", "PROVIDER_NOT_CONFIGURED"],
  [
    "email is switched off",
    "password",
    422,
    { code: "email_provider_disabled" },
    "email_provider_disabled",
    "PROVIDER_NOT_CONFIGURED",
  ],
  ["a captcha is wanted", "password", 400, { code: "captcha_failed" }, "captcha_failed", "PROVIDER_NOT_CONFIGURED"],
  ["a fault", "password", 500, { code: "unexpected_failure" }, "unexpected_failure", "UPSTREAM_UNAVAILABLE"],
  ["an unknown refusal", "password", 418, { code: "teapot" }, "teapot", "UPSTREAM_UNAVAILABLE"],
  ["no such path", "password", 404, {}, "", "UPSTREAM_UNAVAILABLE"],
  ["success without a session", "password", 200, {}, "", "UPSTREAM_UNAVAILABLE"],
  ["success without a person", "password", 200, { access_token: "t" }, "", "UPSTREAM_UNAVAILABLE"],
  [
    "success with a person that is null",
    "password",
    200,
    { access_token: "t", user: null },
    "",
    "UPSTREAM_UNAVAILABLE",
  ],
  ["the gateway forbids the key", "password", 403, {}, "", "PROVIDER_NOT_CONFIGURED"],
  ["a body that is no object", "password", 400, null, "", "UPSTREAM_UNAVAILABLE"],
  ["a code that is no name", "password", 400, { code: "ada@example.com" }, "", "UPSTREAM_UNAVAILABLE"],
  ["a link that is used", "verify", 403, { code: "otp_expired" }, "otp_expired", "MAGIC_LINK_INVALID"],
  [
    "a link that is used, in a sentence",
    "verify",
    401,
    { code: 401, msg: "Email link is invalid or has expired" },
    "otp_expired",
    "MAGIC_LINK_INVALID",
  ],
  ["a banned person's link", "verify", 403, { code: "user_banned" }, "user_banned", "MAGIC_LINK_INVALID"],
  [
    "the gateway refuses the key for a link",
    "verify",
    401,
    { message: "Invalid API key" },
    "",
    "PROVIDER_NOT_CONFIGURED",
  ],
  ["a link was sent", "otp", 200, {}, "", "done"],
  ["nobody is made", "otp", 422, { code: "otp_disabled" }, "otp_disabled", "done"],
  [
    "nobody is made, in a sentence",
    "otp",
    400,
    { code: 400, msg: "Signups not allowed for otp" },
    "otp_disabled",
    "done",
  ],
  ["nobody is known", "otp", 404, { code: "user_not_found" }, "user_not_found", "done"],
  ["nobody new is taken", "otp", 422, { code: "signup_disabled" }, "signup_disabled", "signup_disabled"],
  ["a banned person's address", "otp", 403, { code: "user_banned" }, "user_banned", "user_banned"],
  ["a bad address", "otp", 400, { code: "validation_failed" }, "validation_failed", "validation_failed"],
  [
    "too many mails",
    "otp",
    429,
    { code: 429, error_code: "over_email_send_rate_limit", msg: limit },
    "over_email_send_rate_limit",
    "RATE_LIMITED 42",
  ],
  [
    "too many mails, in a sentence",
    "otp",
    429,
    { code: 429, msg: limit },
    "over_email_send_rate_limit",
    "RATE_LIMITED 42",
  ],
  ["too many calls", "otp", 429, { code: "over_request_rate_limit" }, "over_request_rate_limit", "RATE_LIMITED 60"],
  [
    "a session that ended",
    "user",
    403,
    { code: "session_not_found" },
    "session_not_found",
    "PROVIDER_TOKEN_INVALID session_id",
  ],
  ["a token that is none", "user", 403, { code: "bad_jwt" }, "bad_jwt", "PROVIDER_TOKEN_INVALID session_id"],
  ["another refusal of a session", "user", 404, { code: "no_such_path" }, "no_such_path", "UPSTREAM_UNAVAILABLE"],
  ["a fault over a mail", "otp", 500, { code: "validation_failed" }, "validation_failed", "UPSTREAM_UNAVAILABLE"],
])("%s", (_, question, status, body, code, expected) => {
  const answer = { status, body }
  expect(errorCodeOf(answer)).toBe(code)
  const read = () => {
    if (question === "otp") return readSent(answer, true)
    return question === "user" ? readUser(answer) : readSession(question, answer)
  }
  expect(meaning(read)).toBe(expected)
})

test("the project's mail limit is not revealed where only known addresses reach it", () => {
  const answer = { status: 429, body: { code: "over_email_send_rate_limit", message: limit } }
  expect(meaning(() => readSent(answer, false))).toBe("over_email_send_rate_limit")
  expect(meaning(() => readSent({ status: 429, body: { code: "over_request_rate_limit" } }, false))).toBe(
    "RATE_LIMITED 60",
  )
})

test("a session is the token and the person", () => {
  const body = { access_token: "t", refresh_token: "r", user: { id: "u" } }
  expect(readSession("verify", { status: 200, body })).toEqual({ accessToken: "t", user: { id: "u" } })
})

test.each([
  [200, true],
  [400, true],
  [429, true],
  [500, true],
  [502, false],
  [503, false],
  [504, false],
  [520, false],
])("status %i is the project's own: %s", (status, expected) => {
  expect(isFromProject({ status, body: {} })).toBe(expected)
})
