// Decides what a session of IDP_C proves. server/providers verifies its signature.

import type { ProviderClient } from "../records.ts"
import { isPast, isText, isTime, skewSeconds } from "./claim.ts"
import type { Vouched } from "./provider-ports.ts"

/** The project answers with a session that it just created. */
const maxAgeSeconds = 600

interface PresentedEmailSession {
  /** The payload of the access token, whose signature was verified. */
  claims: Readonly<Record<string, unknown>>
  /** The member `user` of the same answer. */
  user: Readonly<Record<string, unknown>>
  client: ProviderClient
  /** `<project_url>/auth/v1`. */
  issuer: string
  /** Unix time. */
  nowSeconds: number
}

type EmailSessionJudgment =
  | { is: "ok"; vouched: Vouched }
  | { is: "refuse"; reason: "PROVIDER_TOKEN_INVALID" | "EMAIL_NOT_VERIFIED"; claim: string }

/**
 * Checks that the session belongs to this project and to a user who proved the email address.
 *
 * Token and user must name the same subject: the account is found by the subject alone.
 */
export function judgeEmailSession(presented: PresentedEmailSession): EmailSessionJudgment {
  const { claims, user, client, issuer, nowSeconds } = presented
  const { sub, exp, iat } = claims
  if (claims.iss !== issuer) return invalid("iss")
  const audiences = Array.isArray(claims.aud) ? claims.aud : [claims.aud]
  if (audiences.length !== 1 || audiences[0] !== "authenticated") return invalid("aud")
  if (!isText(sub, 255) || sub === "" || sub !== user.id) return invalid("sub")
  if (!isTime(exp) || nowSeconds >= exp + skewSeconds) return invalid("exp")
  if (!isTime(iat) || iat > nowSeconds + skewSeconds || nowSeconds > iat + maxAgeSeconds) return invalid("iat")
  if (claims.nbf !== undefined && !isPast(claims.nbf, nowSeconds)) return invalid("nbf")
  if (isAnonymous(claims) || isAnonymous(user)) return invalid("is_anonymous")
  const email = user.email
  if (!isText(email, 320) || email === "") return invalid("email")
  if (claims.email !== undefined && claims.email !== email) return invalid("email")
  if (!isDate(user.email_confirmed_at)) {
    return { is: "refuse", reason: "EMAIL_NOT_VERIFIED", claim: "email_confirmed_at" }
  }
  return {
    is: "ok",
    vouched: {
      issuer: client.canonicalIssuer,
      subject: sub,
      providerTenant: client.providerTenant,
      email,
      emailVerified: true,
      isRelayEmail: false,
      name: nameOf(user.user_metadata),
      authTimeMs: authTimeOf(claims.amr, nowSeconds),
      providerRefreshToken: null,
      singleUse: null,
    },
  }
}

/**
 * Returns the claim that shows that the token is not a session's access token: it is an ID token, a service key, or the
 * token of another OAuth client. Undefined if it is one.
 */
export function sessionTokenProblem(
  claims: PresentedEmailSession["claims"],
  client: Pick<ProviderClient, "clientId">,
): "session_id" | "role" | "client_id" | undefined {
  if (!isText(claims.session_id, 255) || claims.session_id === "") return "session_id"
  if (claims.role !== "authenticated") return "role"
  return claims.client_id === undefined || claims.client_id === client.clientId ? undefined : "client_id"
}

/** Same as `judgeEmailSession`, for a session that the app presents: the project may have created it long ago. */
export function judgePresentedSession(presented: PresentedEmailSession): EmailSessionJudgment {
  const { claims, user, nowSeconds } = presented
  if (isBanned(user, nowSeconds)) return invalid("banned_until")
  const judgment = judgeEmailSession(presented)
  // The password that this session began with may be replaced at this moment.
  if (judgment.is === "ok" && isFirstConfirmed(claims, user)) {
    return { is: "refuse", reason: "EMAIL_NOT_VERIFIED", claim: "email_confirmed_at" }
  }
  return judgment
}

/** An unreadable time counts as banned. */
function isBanned({ banned_until: until }: Readonly<Record<string, unknown>>, nowSeconds: number): boolean {
  if (until === undefined || until === null) return false
  return typeof until !== "string" || !(Date.parse(until) <= nowSeconds * 1_000)
}

/** Maximum time between the confirmation of the address and the start of the session, in seconds. */
const confirmingSeconds = 10

/**
 * True if the link of this session is what first confirmed the address; both times come from the project. Before that,
 * anyone may have set the account's password.
 */
export function isFirstConfirmed(
  { iat }: Readonly<Record<string, unknown>>,
  { email_confirmed_at: confirmedAt }: Readonly<Record<string, unknown>>,
): boolean {
  return isTime(iat) && typeof confirmedAt === "string" && Date.parse(confirmedAt) >= (iat - confirmingSeconds) * 1_000
}

/** Rejects every value but false and undefined: a project may mark anonymous users in another way. */
function isAnonymous({ is_anonymous: mark }: Readonly<Record<string, unknown>>): boolean {
  return mark !== undefined && mark !== false
}

function isDate(value: unknown): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value))
}

/** The newest of the methods, each `{method, timestamp}` in seconds, as milliseconds; null if there is none. */
function authTimeOf(amr: unknown, nowSeconds: number): number | null {
  const methods: readonly unknown[] = Array.isArray(amr) ? amr : []
  const times = methods
    .map((method) => (typeof method === "object" && method !== null && "timestamp" in method ? method.timestamp : null))
    .filter((time) => isTime(time) && isPast(time, nowSeconds))
  return times.length === 0 ? null : Math.max(...times) * 1000
}

/** A display name that the user provided, if any. */
function nameOf(metadata: unknown): string | null {
  if (typeof metadata !== "object" || metadata === null) return null
  const { full_name: fullName, name } = Object.fromEntries(Object.entries(metadata))
  return [fullName, name].find((text) => isText(text, 200) && text !== "") ?? null
}

function invalid(claim: string): EmailSessionJudgment {
  return { is: "refuse", reason: "PROVIDER_TOKEN_INVALID", claim }
}
