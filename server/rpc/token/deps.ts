import type { VerifyToken } from "@signet/guard/access-token"
import type { FindLiveness } from "@signet/guard/liveness"
import type { TokenCrypto } from "@signet/guard/token-crypto"
import type { Deps } from "../deps.ts"

/** What the token endpoint acts with, besides what every handler has. */
export interface TokenDeps extends Deps {
  /** Verifies access tokens of this issuer for any audience: which one is right is for the grant to say. */
  readonly verify: VerifyToken
  readonly liveness: FindLiveness
  /** Verifies clients' assertions. */
  readonly crypto: TokenCrypto
}
