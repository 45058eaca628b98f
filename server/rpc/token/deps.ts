import type { VerifyToken } from "@signet/guard/access-token"
import type { FindLiveness } from "@signet/guard/revocation/liveness"
import type { TokenCrypto } from "@signet/guard/token-crypto"
import type { Deps } from "../deps.ts"
import type { KnownClients } from "./known-clients.ts"

/** The additional dependencies of the token endpoint. */
export interface TokenDeps extends Deps {
  /** Verifies access tokens of this issuer for any audience; each grant checks the audience. */
  readonly verify: VerifyToken
  readonly liveness: FindLiveness
  /** Verifies clients' assertions. */
  readonly crypto: TokenCrypto
}

/** The dependencies of calls that use the facts of clients found before. */
export interface KnowingDeps extends TokenDeps {
  readonly knownClients: KnownClients
}
