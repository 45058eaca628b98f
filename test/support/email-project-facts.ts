// Observed refusals of a project with Supabase Auth 2.196 in August 2026. The stand-in returns the same.

/** The password of every user. */
export const password = "correct-horse-1"

interface Fact {
  what: string
  path: string
  body: unknown
  headers?: Record<string, string>
  status: number
  answer: Record<string, unknown>
}

/** Selects the error format. */
export const version = { "x-supabase-api-version": "2024-01-01" }
/** Refusals for ada@example.com (known), una@example.com (unconfirmed) and nobody@example.com (unknown). */
export const refusals: readonly Fact[] = [
  {
    what: "a wrong password",
    path: "/token?grant_type=password",
    body: { email: "ada@example.com", password: "wrong" },
    status: 400,
    answer: { code: 400, error_code: "invalid_credentials", msg: "Invalid login credentials" },
  },
  {
    what: "a wrong password, by version",
    path: "/token?grant_type=password",
    body: { email: "ada@example.com", password: "wrong" },
    headers: version,
    status: 400,
    answer: { code: "invalid_credentials", message: "Invalid login credentials" },
  },
  {
    what: "an unknown address, by version",
    path: "/token?grant_type=password",
    body: { email: "nobody@example.com", password },
    headers: version,
    status: 400,
    answer: { code: "invalid_credentials", message: "Invalid login credentials" },
  },
  {
    what: "an address that was not shown to be theirs",
    path: "/token?grant_type=password",
    body: { email: "una@example.com", password },
    headers: version,
    status: 400,
    answer: { code: "email_not_confirmed", message: "Email not confirmed" },
  },
  {
    what: "the same with a wrong password, which is looked at first",
    path: "/token?grant_type=password",
    body: { email: "una@example.com", password: "wrong" },
    headers: version,
    status: 400,
    answer: { code: "invalid_credentials", message: "Invalid login credentials" },
  },
  {
    what: "text that no database keeps",
    path: "/token?grant_type=password",
    body: { email: "a\0@example.com", password },
    headers: version,
    status: 500,
    answer: { code: "unexpected_failure", message: "Database error querying schema" },
  },
  {
    what: "a link for nobody, where nobody is made",
    path: "/otp",
    body: { email: "nobody@example.com", create_user: false },
    status: 422,
    answer: { code: 422, error_code: "otp_disabled", msg: "Signups not allowed for otp" },
  },
  {
    what: "a link for no address",
    path: "/otp",
    body: { email: "nobody" },
    headers: version,
    status: 400,
    answer: { code: "validation_failed", message: "Unable to validate email address: invalid format" },
  },
  {
    what: "a link that nobody sent",
    path: "/verify",
    body: { type: "email", token_hash: "made-up-by-a-stranger" },
    headers: version,
    status: 403,
    answer: { code: "otp_expired", message: "Email link is invalid or has expired" },
  },
  {
    what: "a sign-out without a session",
    path: "/logout?scope=local",
    body: {},
    headers: version,
    status: 401,
    answer: { code: "no_authorization", message: "This endpoint requires a valid Bearer token" },
  },
]
