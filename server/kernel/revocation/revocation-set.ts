// A verifier's set of revocations: looked up by the claims of a token, bounded, and without expired entries.
import type { AuthContext } from "../authz/context.ts"
import { sessionOf } from "../authz/liveness.ts"
import type { LivenessFacts } from "../authz/liveness-ports.ts"
import { noVersions } from "../authz/versions.ts"
import { skewSeconds } from "../token/claims.ts"
import type { RevocationEntry, RevocationKind } from "./entry.ts"

interface RevocationSet {
  /** False if the capacity is exceeded: the set is then incomplete. */
  add(entries: readonly RevocationEntry[], nowMs: number): boolean
  /** The liveness facts of a caller whose token is otherwise valid. */
  factsOf(context: AuthContext, nowMs: number): LivenessFacts
  isKeyRevoked(kid: string, nowMs: number): boolean
  /** True if an entry covers something that was signed at this time. */
  isRevoked(of: Pick<RevocationEntry, "kind" | "key"> & { readonly issuedAtMs: number }, nowMs: number): boolean
  readonly size: number
}

type Issued = Pick<AuthContext, "issuedAtMs">

/** @param capacity Maximum number of entries. */
export function createRevocationSet(capacity: number): RevocationSet {
  const entries = new Map<string, RevocationEntry>()
  let sweptAtMs = 0

  function sweep(nowMs: number): void {
    for (const [name, { expiresAtMs }] of entries) if (isOver(expiresAtMs, nowMs)) entries.delete(name)
    sweptAtMs = nowMs
  }

  function find(kind: RevocationKind, key: string | null, nowMs: number, appId?: string): RevocationEntry | undefined {
    if (key === null) return undefined
    const entry = entries.get(nameOf({ kind, key, ...(appId === undefined ? {} : { appId }) }))
    return entry === undefined || isOver(entry.expiresAtMs, nowMs) ? undefined : entry
  }

  /**
   * "all": the entry covers every token. "before": it covers earlier tokens, including this one. Undefined: not
   * covered.
   */
  function reach(entry: RevocationEntry | undefined, { issuedAtMs }: Issued): "all" | "before" | undefined {
    if (entry === undefined) return undefined
    if (entry.issuedBeforeMs === undefined) return "all"
    return issuedAtMs < entry.issuedBeforeMs ? "before" : undefined
  }

  return {
    add(added, nowMs) {
      if (nowMs - sweptAtMs > sweepEveryMs || entries.size + added.length > capacity) sweep(nowMs)
      for (const entry of added) {
        if (isOver(entry.expiresAtMs, nowMs)) continue
        const name = nameOf(entry)
        if (entries.size >= capacity && !entries.has(name)) return false
        entries.set(name, entry)
      }
      return true
    },

    factsOf(context, nowMs) {
      const of = (kind: RevocationKind, key: string | null) => reach(find(kind, key, nowMs), context)
      const place = {
        app: of("APP", context.appId),
        tenant: of("TENANT", context.tenantId),
        context: of("CONTEXT", context.contextId),
      }
      const principal = of("PRINCIPAL", context.principal.id)
      const actor = of("PRINCIPAL", context.actor?.id ?? null)
      const isOld = [principal, actor, ...Object.values(place), of("ISSUER_EPOCH", "all")].includes("before")
      const revoked: [RevocationKind, boolean][] = [
        ["PRINCIPAL", principal === "all"],
        ["SESSION", of("SESSION", sessionOf(context)) !== undefined],
        ["CREDENTIAL", of("CREDENTIAL", context.credentialId) !== undefined],
        ["TOKEN", isOld || of("TOKEN", context.tokenId) !== undefined],
      ]
      return {
        principal: "ACTIVE",
        actor: actor === "all" ? "SUSPENDED" : "ACTIVE",
        identity: "ACTIVE",
        // No token carries the session's limits; its refresh tokens enforce them.
        session: { status: "ACTIVE", idleExpiresAtMs: Number.MAX_VALUE, absoluteExpiresAtMs: Number.MAX_VALUE },
        membership: "ACTIVE",
        app: place.app === "all" ? "SUSPENDED" : "ACTIVE",
        tenant: statusOf(context.tenantId, place.tenant),
        context: statusOf(context.contextId, place.context),
        revoked: revoked.filter(([, isSo]) => isSo).map(([kind]) => kind),
        minimum: {
          principal: find("AUTHORITY", context.principal.id, nowMs, context.appId)?.minVersion ?? noVersions.principal,
          policy: find("POLICY", context.appId, nowMs)?.minVersion ?? noVersions.policy,
        },
        current: null,
      }
    },

    isRevoked: (of, nowMs) => reach(find(of.kind, of.key, nowMs), of) !== undefined,

    isKeyRevoked: (kid, nowMs) => find("KEY", kid, nowMs) !== undefined,

    get size() {
      return entries.size
    },
  }
}

const sweepEveryMs = 10_000

/** Accepted clock skew: tokens are accepted for this long after they expire. */
const isOver = (expiresAtMs: number, nowMs: number): boolean => expiresAtMs + skewSeconds * 1_000 <= nowMs

const nameOf = ({ kind, key, appId }: Pick<RevocationEntry, "kind" | "key" | "appId">): string =>
  `${kind} ${key} ${appId ?? ""}`

const statusOf = (id: string | null, reached: "all" | "before" | undefined): "ACTIVE" | "SUSPENDED" | null => {
  if (id === null) return null
  return reached === "all" ? "SUSPENDED" : "ACTIVE"
}
