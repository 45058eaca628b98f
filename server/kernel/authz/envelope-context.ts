import type { AccessTokenClaims } from "../token/claims.ts"
import { type AuthContext, contextOf } from "./context.ts"

/**
 * Builds the caller's context of an envelope from its context token. Audience and scopes are those of this delivery;
 * `payload` is the original token's, whose `aud` names the first sender.
 */
export function envelopeContextOf(
  claims: AccessTokenClaims,
  payload: Readonly<Record<string, unknown>>,
  at: { readonly audience: string; readonly scopes: readonly string[] },
): AuthContext {
  const context = contextOf({ ...claims, aud: at.audience, scp: at.scopes }, payload)
  return Object.freeze({ ...context, method: "ACTOR_ENVELOPE" })
}
