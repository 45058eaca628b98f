// Authentication and authorization, identical on every target. Adapters such as connect.ts read headers and messages.
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
import { asksPermissions, type FindPermissions } from "./permissions/permissions.ts"
import type { RevocationFeed } from "./revocation/feed.ts"
import type { FindLiveness } from "./revocation/liveness.ts"
import { type TokenCrypto, webTokenCrypto } from "./token-crypto.ts"

/** The `appId` of a service that serves every app. */
export const anyApp = "*"

export interface GuardOptions {
  /** Accepted `iss`. */
  readonly issuer: string
  /** Accepted `aud`: this service's own. */
  readonly audience: string
  /**
   * The app whose tokens are accepted (`app_…`). Tokens of other apps are refused with APP_MISMATCH. A service for
   * every app uses `anyApp`.
   */
  readonly appId: string
  readonly keySet: KeySet
  readonly clock: Clock
  /** Hashes tokens for the cache. Default: WebCrypto. */
  readonly crypto?: TokenCrypto
  /** The revocation feed, so that revocations take effect within moments. It provides `liveness` and withdraws keys. */
  readonly revocations?: Pick<RevocationFeed, "liveness" | "withoutRevoked">
  /**
   * Called for each request: are principal, session and membership active? Without it, these facts are as old as the
   * token: at most 900 s.
   */
  readonly liveness?: FindLiveness
  /** Called if a requirement needs fresher facts. Throws if the issuer does not answer. */
  readonly introspect?: Introspect
  /** Returns the caller's permissions, for requirements that need more than scopes. Without it no caller has any. */
  readonly permissions?: FindPermissions
  /**
   * For requirements that state none. Default: 60 s, then introspection; without `liveness`, a token's whole lifetime.
   */
  readonly defaultFreshness?: Freshness
  /** Maximum number of verified tokens in memory. 10,000. */
  readonly cacheSize?: number
}

export interface Guard {
  /** The freshness for requirements that state none. */
  readonly defaultFreshness: Freshness
  /**
   * Returns the caller of an Authorization header, or why it is unknown.
   *
   * @param header The header as sent; null if there is none.
   */
  authenticate(header: string | null): Promise<AuthContext | Reason>
  /** Registers the token of a caller that other code verified, for introspection. */
  introduce(caller: AuthContext, token: string): void
  /**
   * Decides whether the caller meets the requirement.
   *
   * @param request Facts without the app, which the guard knows.
   */
  authorize(caller: AuthContext | Reason, requirement: Requirement, request: CallFacts): Promise<AuthDecision>
  /**
   * Returns the caller's roles and permissions from `permissions`: from memory or the issuer. For handlers whose
   * requirement did not load them.
   *
   * @throws Refused PERMISSIONS_STALE or UNAVAILABLE; Error if the guard has no `permissions`.
   */
  loadGrants(caller: AuthContext): Promise<Grants>
}

/** The facts that a target determined about a call. */
export type CallFacts = Omit<RequestFacts, "appId">

const withLiveness: Freshness = { maxStalenessMs: 60_000, onStale: "INTROSPECT" }
const withoutLiveness: Freshness = { maxStalenessMs: 930_000, onStale: "INTROSPECT" }

/** @throws Error if `appId` is missing, or neither an app's id nor `anyApp`. */
export function createGuard(options: GuardOptions): Guard {
  const { issuer, audience, clock, introspect, revocations } = options
  const app = appOf(options.appId)
  const liveness = options.liveness ?? revocations?.liveness
  // Introspection needs the token itself, which the context does not contain.
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
        // No token can cause an exception here; an exception is a fault, and a fault denies access.
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
        // A failure before step 6 does not depend on grants, and grants never turn an allow into a deny.
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

  /** Adds the grants that are in memory to an allowed caller, if the decision did not load them. */
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

  /** Returns the caller with its grants, or why they are unknown. */
  async function heldBy(caller: AuthContext): Promise<Held> {
    const { permissions } = options
    if (permissions === undefined) return { caller, snapshot: null }
    const snapshot = await permissions(caller).catch(() => "UNAVAILABLE" as const)
    if (typeof snapshot === "string") return { caller: snapshot, snapshot: null }
    const grants = grantsIn(snapshot, caller)
    return { caller: withGrants(caller, grants), snapshot, grants }
  }
}

/** Undefined for every app. JavaScript callers can omit the option, which must not mean "any app". */
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
