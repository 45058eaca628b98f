// Checks one requirement against one call: steps 3 to 8 of the authorization algorithm, in order.
import type { Reason } from "../errors.ts"
import { maxActDepth } from "../token/claims.ts"
import type { AuthContext } from "./context.ts"
import { hasRoleAt, isHeldAt, isHeldOn } from "./effective.ts"
import { misplacement } from "./grants.ts"
import { displacement } from "./liveness.ts"
import type { KnownCall } from "./question.ts"
import { type Freshness, type Requirement, resourceKey, tenantKey } from "./requirement.ts"

/** Options that a composite requirement passes to its parts. */
export interface Inherited {
  readonly freshness: Freshness
  /** Undefined: no limit. */
  readonly maxAuthAgeSeconds?: number
}

export interface Failure {
  readonly step: number
  readonly reason: Reason
  readonly metadata?: Readonly<Record<string, string>>
  /** Absent if it equals `reason`. */
  readonly trueReason?: Reason
  readonly introspect?: boolean
}

/** Returns the first step that the call fails for this check; undefined if it passes all. */
export function failureOf(check: Requirement, call: KnownCall, options: Inherited): Failure | undefined {
  return (
    staleness(call, options.freshness) ??
    noDevice(check, call.context) ??
    wrongPlace(check, call) ??
    wrongKind(check, call.context) ??
    missing(check, call) ??
    tooLongAgo(call, options.maxAuthAgeSeconds) ??
    notGranted(check, call) ??
    wrongActor(check, call)
  )
}

function staleness(call: KnownCall, { maxStalenessMs, onStale }: Freshness): Failure | undefined {
  // At issue, principal, session and credential were active: the least that is known.
  const asOfMs = call.liveness === "unknown" ? call.context.issuedAtMs : call.liveness.asOfMs
  if (onStale === "ALLOW" || call.nowMs - asOfMs <= maxStalenessMs) return undefined
  return { step: 3, reason: "REVOCATION_STATE_STALE", introspect: onStale === "INTROSPECT" }
}

/** If the check asks for proof, the target verifies that the device itself makes this call. */
function noDevice(check: Requirement, { deviceId }: AuthContext): Failure | undefined {
  return check.is === "device" && deviceId === null ? { step: 3, reason: "DEVICE_REQUIRED" } : undefined
}

function wrongPlace(check: Requirement, call: KnownCall): Failure | undefined {
  const { context, request, liveness } = call
  if (request.appId !== undefined && request.appId !== context.appId) return { step: 4, reason: "APP_MISMATCH" }
  const displaced = liveness === "unknown" ? undefined : displacement(context, liveness.facts)
  if (displaced !== undefined) return { step: 4, reason: displaced }
  if (check.is === "tenant") {
    if (context.tenantId === null) return { step: 4, reason: "TENANT_REQUIRED" }
    if (check.from === "TOKEN" || request.tenants?.get(tenantKey(check)) === context.tenantId) return undefined
    return { step: 4, reason: "TENANT_MISMATCH" }
  }
  if (check.is === "resourceAction") {
    const resource = request.resources?.get(resourceKey(check))
    const problem = resource?.type === check.type ? misplacement(context, resource) : "RESOURCE_UNRESOLVED"
    // Same answer for another tenant's resource and for none: a difference would reveal which ids exist.
    return problem && { step: 4, reason: "RESOURCE_UNRESOLVED", trueReason: problem }
  }
  return undefined
}

function wrongKind(check: Requirement, context: AuthContext): Failure | undefined {
  if (check.is !== "kinds" || check.of.includes(context.principal.kind)) return undefined
  return { step: 5, reason: "PRINCIPAL_KIND_NOT_ALLOWED" }
}

function missing(check: Requirement, { context, snapshot, nowMs }: KnownCall): Failure | undefined {
  switch (check.is) {
    case "scope":
      if (context.scopes.has(check.scope)) return undefined
      return { step: 6, reason: "MISSING_SCOPE", metadata: { scope: check.scope } }
    case "role":
      if (snapshot !== null && hasRoleAt(snapshot, check.role, context, nowMs)) return undefined
      return { step: 6, reason: "MISSING_ROLE", metadata: { role: check.role } }
    case "action":
    case "resourceAction":
      if (snapshot !== null && isHeldAt(snapshot, { scopes: context.scopes, nowMs }, check.action, context)) {
        return undefined
      }
      return { step: 6, reason: "MISSING_PERMISSION", metadata: { permission: check.action } }
    default:
      return undefined
  }
}

function tooLongAgo(call: KnownCall, maxAuthAgeSeconds: number | undefined): Failure | undefined {
  if (maxAuthAgeSeconds === undefined) return undefined
  const { authTimeMs } = call.context
  if (authTimeMs !== null && call.nowMs - authTimeMs <= maxAuthAgeSeconds * 1_000) return undefined
  return { step: 6, reason: "STEP_UP_REQUIRED", metadata: { max_age: String(maxAuthAgeSeconds) } }
}

function notGranted(check: Requirement, call: KnownCall): Failure | undefined {
  if (check.is !== "resourceAction") return undefined
  const { request, snapshot, context, nowMs } = call
  const resource = request.resources?.get(resourceKey(check))
  const isGranted =
    resource !== undefined &&
    snapshot !== null &&
    isHeldOn(snapshot, { scopes: context.scopes, nowMs }, check.action, resource)
  if (isGranted) return undefined
  return { step: 7, reason: "RESOURCE_NOT_GRANTED" }
}

function wrongActor(check: Requirement, call: KnownCall): Failure | undefined {
  const { delegation } = call.context
  if (delegation === null) return check.is === "delegated" ? { step: 8, reason: "ACTOR_REQUIRED" } : undefined
  if (check.is === "delegated") {
    const names = [delegation.actor.id, delegation.actorClientId]
    if (!names.some((name) => check.actors.includes(name))) return { step: 8, reason: "ACTOR_NOT_ALLOWED" }
  }
  if (delegation.expiresAtMs + skewMs <= call.nowMs) return { step: 8, reason: "DELEGATION_EXPIRED" }
  if (delegation.depth > maxActDepth) return { step: 8, reason: "DELEGATION_CHAIN_TOO_DEEP" }
  if (call.request.jobId !== undefined && call.request.jobId !== delegation.jobId) {
    return { step: 8, reason: "JOB_MISMATCH" }
  }
  return undefined
}

/** Accepted clock skew. */
const skewMs = 30_000
