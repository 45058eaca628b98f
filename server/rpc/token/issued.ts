import { newId } from "@signet/kernel/ids"
import type { AccessTokenClaims } from "@signet/kernel/token/claims"
import { accessTokenType, type contextTokenType } from "@signet/kernel/token/grant"
import type { Issue } from "@signet/kernel/token/machine-claims"
import type { Deps } from "../deps.ts"

/** The answer of the token endpoint: the fields of TokenResponse. */
export interface IssuedToken {
  accessToken: string
  tokenType: "Bearer" | "N_A"
  /** Seconds. */
  expiresIn: number
  scope: string
  issuedTokenType: typeof accessTokenType | typeof contextTokenType
  audience: string
}

/** The inputs of a token that is issued now. @param tokenId Default: an id that the event of the issue has as its target. */
export function issueOf(
  deps: Deps,
  nowMs: number,
  of: Pick<Issue, "audience" | "scopes" | "versions" | "lifetimeSeconds">,
  tokenId = newId("jti", nowMs, deps.random.bytes(10)),
): Issue {
  return {
    ...of,
    issuer: deps.issuer,
    tokenId,
    nowSeconds: Math.floor(nowMs / 1_000),
  }
}

/** Signs the token. */
export function issued(deps: Deps, claims: AccessTokenClaims): IssuedToken {
  return {
    accessToken: deps.keys.sign("at+jwt", { ...claims }),
    tokenType: "Bearer",
    expiresIn: claims.exp - claims.iat,
    scope: claims.scp.join(" "),
    issuedTokenType: accessTokenType,
    audience: claims.aud,
  }
}
