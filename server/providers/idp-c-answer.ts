// Interprets IDP_C's answers. Its API has used three formats of errors.
import { Refused } from "@signet/kernel/errors"
import { type JsonAnswer, unavailable } from "./bounded-request.ts"
import { membersOf } from "./code-exchange.ts"

/** The kind of call: a password, a magic link to send, a magic link to confirm, the user of a session. */
export type Question = "password" | "otp" | "verify" | "user"

export interface ProjectSession {
  accessToken: string
  user: Readonly<Record<string, unknown>>
}

/** The wait in seconds if the project names none. */
const usualWait = 60

/** Error codes for the messages of projects without error codes. */
const codesBySentence: readonly [RegExp, string][] = [
  [/^email not confirmed$/i, "email_not_confirmed"],
  [/^invalid login credentials$/i, "invalid_credentials"],
  [/^(email link|token) (is invalid or has expired|has expired or is invalid)$/i, "otp_expired"],
  [/^error confirming user$/i, "user_banned"],
  [/^signups not allowed for otp$/i, "otp_disabled"],
  [/^signups not allowed for this instance$/i, "signup_disabled"],
  [/^user not found$/i, "user_not_found"],
  [/^email (logins|signups) are disabled$/i, "email_provider_disabled"],
]

/** The project or the client is not configured for the call, for any user. */
const configurationCodes = ["email_provider_disabled", "provider_disabled", "captcha_failed", "no_authorization"]

/** A banned user gets the answer for an unknown one: the project reports a ban before it checks the password. */
const wrongPassword = ["invalid_credentials", "user_banned", "user_not_found", "user_sso_managed", "validation_failed"]
const endedSession = ["session_not_found", "session_expired", "bad_jwt", "user_not_found", "user_banned"]
const wrongLink = ["otp_expired", "user_banned", "user_not_found", "validation_failed"]

/** No mail is sent, and the caller does not learn why: these codes depend on the address. */
const silentCodes = [
  "otp_disabled",
  "signup_disabled",
  "user_not_found",
  "user_banned",
  "user_sso_managed",
  "email_address_invalid",
  "email_address_not_authorized",
  "validation_failed",
]

/** @throws Refused for an answer without a session. */
export function readSession(question: "password" | "verify", { status, body }: JsonAnswer): ProjectSession {
  if (status !== 200) throw refusalOf(question, { status, body })
  const { access_token: accessToken, user } = membersOf(body)
  if (typeof accessToken !== "string" || typeof user !== "object" || user === null) {
    throw unavailable("the project's response has no session")
  }
  return { accessToken, user: membersOf(user) }
}

/** @throws Refused PROVIDER_TOKEN_INVALID for an ended session; otherwise the refusal that the answer means. */
export function readUser(answer: JsonAnswer): Readonly<Record<string, unknown>> {
  if (answer.status !== 200) throw refusalOf("user", answer)
  return membersOf(answer.body)
}

/**
 * Checks whether a link was sent. The caller learns only of failures that are the same for every address.
 *
 * @param mayCreate If users may be created, known and unknown addresses meet the mail limit, so the caller learns of
 *   it. Otherwise only known ones do.
 * @returns Why no link was sent, for the log; undefined if one was sent, or the address is unknown.
 * @throws Refused RATE_LIMITED, PROVIDER_NOT_CONFIGURED, UPSTREAM_UNAVAILABLE.
 */
export function readSent(answer: JsonAnswer, mayCreate: boolean): string | undefined {
  if (answer.status === 200) return undefined
  const code = errorCodeOf(answer)
  if (code === "over_email_send_rate_limit" && !mayCreate) return code
  if (!silentCodes.includes(code) || answer.status >= 500) throw refusalOf("otp", answer)
  return code === "otp_disabled" || code === "user_not_found" ? undefined : code
}

/** True if the project is reachable. A 500 counts: any caller can cause one with a single request. */
export function isFromProject({ status }: JsonAnswer): boolean {
  return status <= 500
}

function refusalOf(question: Question, answer: JsonAnswer): Refused {
  const { status } = answer
  const code = errorCodeOf(answer)
  const cause = new Error(`the project responded with ${status} ${code}`)
  if (status === 429) return new Refused("RATE_LIMITED", { metadata: { retry_after: waitOf(answer) }, cause })
  if (status >= 500) return unavailable(cause.message)
  // Without a code, the gateway in front of the project has refused the key.
  const isGateway = code === "" && (status === 401 || status === 403)
  if (isGateway || configurationCodes.includes(code)) return new Refused("PROVIDER_NOT_CONFIGURED", { cause })
  if (question === "password" && wrongPassword.includes(code)) return new Refused("INVALID_CREDENTIALS", { cause })
  if (question === "verify" && wrongLink.includes(code)) return new Refused("MAGIC_LINK_INVALID", { cause })
  if (question === "user" && endedSession.includes(code)) {
    return new Refused("PROVIDER_TOKEN_INVALID", { metadata: { claim: "session_id" }, cause })
  }
  if (code === "email_not_confirmed") return new Refused("EMAIL_NOT_VERIFIED", { cause })
  return unavailable(cause.message)
}

/**
 * The error's code: from `{code: 400, error_code, msg}`, or `{code, message}` since API version 2024-01-01. Before
 * codes existed: from `{error, error_description}` or `{code: 400, msg}`. Empty if unknown.
 */
export function errorCodeOf({ status, body }: JsonAnswer): string {
  const { error_code: errorCode, code, msg, error, error_description: description } = membersOf(body)
  const named = [errorCode, code].find((text) => typeof text === "string" && /^[a-z0-9_]{1,64}$/.test(text))
  if (typeof named === "string") return named
  const sentence = typeof description === "string" ? description : msg
  const known = typeof sentence === "string" && codesBySentence.find(([pattern]) => pattern.test(sentence))
  if (known) return known[1]
  // Of the limits without a code, only that of mails has one of these texts.
  if (status === 429 && typeof msg === "string") {
    return /for security purposes|email rate/i.test(msg) ? "over_email_send_rate_limit" : "over_request_rate_limit"
  }
  return error === "invalid_grant" ? "invalid_credentials" : ""
}

/** Whole seconds. */
function waitOf({ body }: JsonAnswer): string {
  const { msg, message } = membersOf(body)
  const [, seconds] = /after (\d{1,4}) seconds/.exec(`${msg ?? message ?? ""}`) ?? []
  return String(Math.max(1, Number(seconds ?? usualWait)))
}
