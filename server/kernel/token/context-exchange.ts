// Decides whether a service may send messages on behalf of its caller. Pure.
import type { AuthContext } from "../authz/context.ts"
import { isWithin } from "../authz/envelope.ts"
import { sessionOf } from "../authz/liveness.ts"
import type { Reason } from "../errors.ts"
import { isAddressee } from "../machine/addressee.ts"
import type { ServiceAccount } from "../machine/records.ts"
import type { OAuthError } from "./oauth-error.ts"

export interface ContextQuestion {
  readonly account: Pick<ServiceAccount, "appId" | "tenantId" | "ownedAudiences">
  /** The caller of the access token, or why the token was rejected. Its audience is not checked yet. */
  readonly subject: AuthContext | Reason
  /** Why the subject is inactive; undefined if active. */
  readonly inactive: Reason | undefined
  /** The requested scopes; empty requests all of the token's. */
  readonly scopes: readonly string[]
}

type ContextExchange =
  | { readonly refuse: false; readonly subject: AuthContext; readonly scopes: readonly string[] }
  | { readonly refuse: true; readonly reason: Reason; readonly error: OAuthError }

/**
 * The token must be addressed to the service, so that a service cannot use a token it obtained elsewhere. It must
 * belong to a user with a session, whose end ends the context, too. The result has at most the token's scopes; for
 * more, use on_behalf_of with its policy.
 */
export function decideContext({ account, subject, inactive, scopes }: ContextQuestion): ContextExchange {
  if (typeof subject === "string") return refuse(subject)
  if (!account.ownedAudiences.includes(subject.audience)) return refuse("AUDIENCE_MISMATCH")
  if (subject.appId !== account.appId) return refuse("APP_MISMATCH")
  if (!isAddressee(account, subject)) return refuse("TENANT_MISMATCH")
  if (subject.principal.kind !== "USER") return refuse("PRINCIPAL_KIND_NOT_ALLOWED")
  if (sessionOf(subject) === null) return refuse("SUBJECT_TOKEN_INVALID")
  if (inactive !== undefined) return refuse(inactive)
  const held = [...subject.scopes]
  if (!isWithin(scopes, held)) return refuse("SCOPE_NOT_GRANTED", "invalid_scope")
  return { refuse: false, subject, scopes: scopes.length === 0 ? held : scopes }
}

const refuse = (reason: Reason, error: OAuthError = "invalid_grant"): ContextExchange => ({
  refuse: true,
  reason,
  error,
})
