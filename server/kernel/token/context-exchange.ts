// May a service send messages for whom it was called by? Without a clock or a store.
import type { AuthContext } from "../authz/context.ts"
import { isWithin } from "../authz/envelope.ts"
import { sessionOf } from "../authz/liveness.ts"
import type { Reason } from "../errors.ts"
import { isAddressee } from "../machine/addressee.ts"
import type { ServiceAccount } from "../machine/records.ts"
import type { OAuthError } from "./oauth-error.ts"

export interface ContextQuestion {
  readonly account: Pick<ServiceAccount, "appId" | "tenantId" | "ownedAudiences">
  /** Who the access token says called it, or why the token is not taken. Its audience is not checked yet. */
  readonly subject: AuthContext | Reason
  /** Why the subject is not active now; undefined when it is. */
  readonly inactive: Reason | undefined
  /** What was asked for; nothing asks for all that the token has. */
  readonly scopes: readonly string[]
}

export type ContextExchange =
  | { readonly refuse: false; readonly subject: AuthContext; readonly scopes: readonly string[] }
  | { readonly refuse: true; readonly reason: Reason; readonly error: OAuthError }

/**
 * The token was addressed to the service, so that it cannot use what it merely came by, and is of a person with a session,
 * whose end ends the context too. Nothing is given that the token does not have: for more there is on_behalf_of, and its
 * policy.
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
