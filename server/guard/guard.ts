// Who is calling and may they: the same on every target. What reads headers and messages is in connect.ts and its like.
import { type AuthDecision, authorize, type RequestFacts } from "@signet/kernel/authz/authorize"
import type { AuthContext } from "@signet/kernel/authz/context"
import type { Liveness } from "@signet/kernel/authz/liveness"
import type { Freshness, Requirement } from "@signet/kernel/authz/requirement"
import type { Reason } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { createVerifier } from "./access-token.ts"
import { parseBearer } from "./bearer.ts"
import type { KeySet } from "./key-set.ts"
import type { FindLiveness } from "./liveness.ts"
import { type TokenCrypto, webTokenCrypto } from "./token-crypto.ts"

export interface GuardOptions {
  /** The `iss` that is taken. */
  readonly issuer: string
  /** The `aud` that is taken: this service's own. */
  readonly audience: string
  readonly keySet: KeySet
  readonly clock: Clock
  /** Hashes tokens for the cache. WebCrypto where it is not said. */
  readonly crypto?: TokenCrypto
  /**
   * Asked at each call whether principal, session and membership are active. Without it the token's own age is how old
   * that knowledge is: 900 s at most.
   */
  readonly liveness?: FindLiveness
  /** Asked when a requirement wants fresher facts than there are. Throws when the issuer does not answer. */
  readonly introspect?: FindLiveness
  /** For requirements that say nothing: 60 s, then introspection; without `liveness`, a token's whole life. */
  readonly defaultFreshness?: Freshness
  /** How many verified tokens are remembered. 10,000. */
  readonly cacheSize?: number
}

export interface Guard {
  /**
   * Who the Authorization header says is calling, or why that is not known.
   *
   * @param header The header as sent; null when there is none.
   */
  authenticate(header: string | null): Promise<AuthContext | Reason>
  /** Whether the caller may do what needs the requirement. */
  authorize(caller: AuthContext | Reason, requirement: Requirement, request: RequestFacts): Promise<AuthDecision>
}

const withLiveness: Freshness = { maxStalenessMs: 60_000, onStale: "INTROSPECT" }
const withoutLiveness: Freshness = { maxStalenessMs: 930_000, onStale: "INTROSPECT" }

export function createGuard(options: GuardOptions): Guard {
  const { issuer, audience, keySet, clock, liveness, introspect } = options
  const verify = createVerifier({
    issuer,
    audience,
    keySet,
    clock,
    crypto: options.crypto ?? webTokenCrypto,
    cacheSize: options.cacheSize ?? 10_000,
  })
  const defaultFreshness = options.defaultFreshness ?? (liveness === undefined ? withoutLiveness : withLiveness)

  return {
    async authenticate(header) {
      const bearer = parseBearer(header)
      if (typeof bearer === "string") return bearer
      try {
        return await verify(bearer.token)
      } catch {
        // Nothing in a token may do this: it is a fault, and a fault lets nobody in.
        return "INTERNAL"
      }
    },

    async authorize(caller, requirement, request) {
      const decide = (known: Liveness | "unknown", context: AuthContext | Reason = caller): AuthDecision =>
        authorize({
          context,
          requirement,
          expected: { issuer, audience },
          request,
          liveness: known,
          defaultFreshness,
          grants: [],
          nowMs: clock.nowMs(),
        })
      if (typeof caller === "string" || requirement.is === "public" || requirement.is === "bodyCredential") {
        return decide("unknown")
      }
      const known = liveness === undefined ? "unknown" : await liveness(caller).catch(() => undefined)
      if (known === undefined) return decide("unknown", "UNAVAILABLE")
      const decision = decide(known)
      if (decision.allow || !decision.introspect || introspect === undefined) return decision
      const fresh = await introspect(caller).catch(() => undefined)
      return fresh === undefined ? decision : decide(fresh)
    },
  }
}
