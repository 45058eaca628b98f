import type { AccessTokenClaims } from "../token/claims.ts"
import { type AuthContext, contextOf } from "./context.ts"

/**
 * Who calls by an envelope: as the context token says, but for the service that it was posted to and with the scopes that
 * are left. The claims are the token's own, which name its first sender as `aud`.
 */
export function envelopeContextOf(
  claims: AccessTokenClaims,
  payload: Readonly<Record<string, unknown>>,
  at: { readonly audience: string; readonly scopes: readonly string[] },
): AuthContext {
  const context = contextOf({ ...claims, aud: at.audience, scp: at.scopes }, payload)
  return Object.freeze({ ...context, method: "ACTOR_ENVELOPE" })
}
