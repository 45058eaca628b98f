// Who is calling and may they: the same on every target. What reads headers and messages is in connect.ts and its like.
import { type AuthDecision, authorize } from "@signet/kernel/authz/authorize"
import { type AuthContext, type Grants, notLoaded, withGrants } from "@signet/kernel/authz/context"
import { heldAt, type PermissionSnapshot } from "@signet/kernel/authz/effective"
import type { Liveness } from "@signet/kernel/authz/liveness"
import type { RequestFacts } from "@signet/kernel/authz/question"
import type { Freshness, Requirement } from "@signet/kernel/authz/requirement"
import { type Reason, Refused } from "@signet/kernel/errors"
import { type AppId, parseId } from "@signet/kernel/ids"
import type { Clock } from "@signet/kernel/ports"
import { createVerifier } from "./access-token.ts"
import { parseBearer } from "./bearer.ts"
import type { Introspect } from "./introspection.ts"
import type { KeySet } from "./key-set.ts"
import type { FindLiveness } from "./liveness.ts"
import { asksPermissions, type FindPermissions } from "./permissions.ts"
import type { RevocationFeed } from "./revocation-feed.ts"
import { type TokenCrypto, webTokenCrypto } from "./token-crypto.ts"

/** The `appId` of a service that serves every app. */
export const anyApp = "*"

export interface GuardOptions {
  /** The `iss` that is taken. */
  readonly issuer: string
  /** The `aud` that is taken: this service's own. */
  readonly audience: string
  /**
   * The app whose tokens are accepted (`app_…`): tokens of other apps are refused with APP_MISMATCH. A service that serves
   * every app says `anyApp`.
   */
  readonly appId: string
  readonly keySet: KeySet
  readonly clock: Clock
  /** Hashes tokens for the cache. WebCrypto where it is not said. */
  readonly crypto?: TokenCrypto
  /** Followed, so that what the issuer revokes is refused here within moments: gives `liveness`, and withdraws keys. */
  readonly revocations?: Pick<RevocationFeed, "liveness" | "withoutRevoked">
  /**
   * Asked at each call whether principal, session and membership are active. Without it the token's own age is how old
   * that knowledge is: 900 s at most.
   */
  readonly liveness?: FindLiveness
  /** Asked when a requirement wants fresher facts than there are. Throws when the issuer does not answer. */
  readonly introspect?: Introspect
  /**
   * Asked what the caller was granted, where a requirement needs more than scopes. Without it nobody is granted anything.
   */
  readonly permissions?: FindPermissions
  /** For requirements that say nothing: 60 s, then introspection; without `liveness`, a token's whole life. */
  readonly defaultFreshness?: Freshness
  /** How many verified tokens are remembered. 10,000. */
  readonly cacheSize?: number
}

export interface Guard {
  /** What requirements that say nothing of it ask for. */
  readonly defaultFreshness: Freshness
  /**
   * Who the Authorization header says is calling, or why that is not known.
   *
   * @param header The header as sent; null when there is none.
   */
  authenticate(header: string | null): Promise<AuthContext | Reason>
  /** Tells which token a caller is known by that somebody else has verified: introspection asks for it. */
  introduce(caller: AuthContext, token: string): void
  /**
   * Whether the caller may do what needs the requirement.
   *
   * @param request Without the app: the guard knows it.
   */
  authorize(caller: AuthContext | Reason, requirement: Requirement, request: CallFacts): Promise<AuthDecision>
  /**
   * The caller's roles and permissions, of `permissions`: from memory, or asked of the issuer. For handlers whose `caller`
   * does not have them, since its requirement did not need them.
   *
   * @throws Refused with PERMISSIONS_STALE, or UNAVAILABLE; an Error when the guard has no `permissions`.
   */
  loadGrants(caller: AuthContext): Promise<Grants>
}

/** What a target found out about a call. */
export type CallFacts = Omit<RequestFacts, "appId">

const withLiveness: Freshness = { maxStalenessMs: 60_000, onStale: "INTROSPECT" }
const withoutLiveness: Freshness = { maxStalenessMs: 930_000, onStale: "INTROSPECT" }

/** @throws when `appId` is missing, or no app's id and not `anyApp`. */
export function createGuard(options: GuardOptions): Guard {
  const { issuer, audience, clock, introspect, revocations } = options
  const app = appOf(options.appId)
  const liveness = options.liveness ?? revocations?.liveness
  // Introspection asks for the token itself, of which a context tells only what it says.
  const tokens = new WeakMap<AuthContext, string>()
  const verify = createVerifier({
    issuer,
    audience,
    keySet: revocations?.withoutRevoked(options.keySet) ?? options.keySet,
    clock,
    crypto: options.crypto ?? webTokenCrypto,
    cacheSize: options.cacheSize ?? 10_000,
  })
  const defaultFreshness = options.defaultFreshness ?? (liveness === undefined ? withoutLiveness : withLiveness)

  return {
    defaultFreshness,

    async authenticate(header) {
      const bearer = parseBearer(header)
      if (typeof bearer === "string") return bearer
      try {
        const context = await verify(bearer.token)
        if (typeof context !== "string" && introspect !== undefined) tokens.set(context, bearer.token)
        return context
      } catch {
        // Nothing in a token may do this: it is a fault, and a fault lets nobody in.
        return "INTERNAL"
      }
    },

    introduce(caller, token) {
      if (introspect !== undefined) tokens.set(caller, token)
    },

    async authorize(caller, requirement, request) {
      const decide = (known: Liveness | "unknown", held: Held = { caller, snapshot: null }): AuthDecision =>
        authorize({
          context: held.caller,
          requirement,
          expected: { issuer, audience },
          request: app === undefined ? request : { ...request, appId: app },
          liveness: known,
          defaultFreshness,
          snapshot: held.snapshot,
          nowMs: clock.nowMs(),
        })
      if (typeof caller === "string" || requirement.is === "public" || requirement.is === "bodyCredential") {
        return decide("unknown")
      }
      const decideWhole = async (known: Liveness | "unknown"): Promise<AuthDecision> => {
        const decision = decide(known)
        // What fails before step 6 fails whatever was granted, and nothing that was granted takes away.
        if (decision.allow || decision.step < 6 || !asksPermissions(requirement)) return decision
        return decide(known, await heldBy(caller))
      }
      const known = liveness === undefined ? "unknown" : await liveness(caller).catch(() => undefined)
      if (known === undefined) return decide("unknown", { caller: "UNAVAILABLE", snapshot: null })
      const decision = await decideWhole(known)
      if (decision.allow || !decision.introspect || introspect === undefined) return withHeld(decision)
      const fresh = await introspect(caller, tokens.get(caller) ?? "").catch(() => undefined)
      return fresh === undefined ? decision : withHeld(await decideWhole(fresh))
    },

    async loadGrants(caller) {
      if (options.permissions === undefined) throw new Error("loadGrants requires the guard's option permissions")
      const held = await heldBy(caller)
      if (held.grants === undefined) throw new Refused(typeof held.caller === "string" ? held.caller : "INTERNAL")
      return held.grants
    },
  }

  /** A caller that is let in is told of the grants that are in memory, where the decision did not need them. */
  async function withHeld(decision: AuthDecision): Promise<AuthDecision> {
    const { permissions } = options
    if (!decision.allow || decision.context?.roles !== notLoaded || permissions?.held === undefined) return decision
    const snapshot = await permissions.held(decision.context).catch(() => undefined)
    if (snapshot === undefined) return decision
    return { allow: true, context: withGrants(decision.context, grantsIn(snapshot, decision.context)) }
  }

  function grantsIn(snapshot: PermissionSnapshot, caller: AuthContext): Grants {
    return heldAt(snapshot, { scopes: caller.scopes, nowMs: clock.nowMs() }, caller)
  }

  /** The caller with what it was granted, or why that is not known. */
  async function heldBy(caller: AuthContext): Promise<Held> {
    const { permissions } = options
    if (permissions === undefined) return { caller, snapshot: null }
    const snapshot = await permissions(caller).catch(() => "UNAVAILABLE" as const)
    if (typeof snapshot === "string") return { caller: snapshot, snapshot: null }
    const grants = grantsIn(snapshot, caller)
    return { caller: withGrants(caller, grants), snapshot, grants }
  }
}

/** Undefined for every app. JavaScript may leave the option out, which must not mean "any app". */
function appOf(appId: unknown): AppId | undefined {
  if (appId === anyApp) return undefined
  const parsed = typeof appId === "string" ? parseId("app", appId) : undefined
  if (parsed !== undefined) return parsed
  const found = appId === undefined ? "missing" : JSON.stringify(appId)
  throw new Error(`the guard's option appId is ${found}: name the app whose tokens are accepted ("app_…"), or anyApp`)
}

interface Held {
  readonly caller: AuthContext | Reason
  readonly snapshot: PermissionSnapshot | null
  readonly grants?: Grants
}
