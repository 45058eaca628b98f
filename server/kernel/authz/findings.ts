// Describes in words what a check found in a call.

import type { Reason } from "../errors.ts"
import type { Failure, Inherited } from "./check.ts"
import type { AuthContext } from "./context.ts"
import { isUsable } from "./effective.ts"
import { covers, type HeldGrant, isLive, type ResourceRef, reaches, reachesWhole } from "./grants.ts"
import { sessionOf } from "./liveness.ts"
import type { KnownCall, Question } from "./question.ts"
import { type Requirement, resourceKey, tenantKey } from "./requirement.ts"
import type { AuthorityVersions } from "./versions.ts"

/** Describes the caller: `USER ann of app, tenant acme, with notes.read`. */
export function callerFound({ context }: Pick<Question, "context">): string {
  if (typeof context === "string") return "nobody who is known"
  const { principal, actor, delegation, scopes } = context
  const acting = actor === null ? "" : ` by ${delegation?.actorClientId ?? actor.id}`
  return `${principal.kind} ${principal.id}${acting} of ${placeText(context)}, with ${listed(scopes)}`
}

/**
 * The fact by which step 2 or 3 refused, before any check; empty for a credential that does not verify, of which nothing
 * but the reason is known.
 */
export function screenFound({ context, expected, liveness, nowMs }: Question, reason: Reason): readonly string[] {
  if (typeof context === "string") return []
  if (reason === "ISSUER_MISMATCH") return [`the token is from ${context.issuer}, the target trusts ${expected.issuer}`]
  if (reason === "AUDIENCE_MISMATCH")
    return [`the token is for ${context.audience}, the target is ${expected.audience}`]
  const fact = liveness === "unknown" ? undefined : inactiveFound(context, liveness.facts, reason, nowMs)
  return fact === undefined ? [] : [fact]
}

export interface PassedStep {
  readonly step: number
  readonly found: readonly string[]
}

/**
 * The facts of each step before the decisive one. Nothing but the presence of a token is known of a credential that does
 * not verify.
 *
 * @param decidedStep 9 for a call that is allowed; 0 for an error, of which no step is known to have passed.
 */
export function passedFound(question: Question, decidedStep: number): readonly PassedStep[] {
  const { context, requirement } = question
  if (decidedStep === 0 || requirement.is === "public" || requirement.is === "bodyCredential") return []
  const present = { step: 1, found: ["the call has one bearer token"] }
  const facts = typeof context === "string" ? [present] : [present, ...callFacts({ ...question, context })]
  return facts.filter(({ step }) => step < decidedStep)
}

function callFacts({ context, liveness, request }: KnownCall): readonly PassedStep[] {
  const { principal, scopes, issuer, audience, expiresAtMs } = context
  const valid = `the token is from ${issuer} for ${audience}, valid until ${new Date(expiresAtMs).toISOString()}`
  const session = sessionOf(context)
  const active = `${principal.id}${session === null ? "" : ` with ${session}`} is active, and nothing is revoked`
  const resources = [...(request.resources?.values() ?? [])].map(({ type, id }) => `the call names ${type} ${id}`)
  return [
    { step: 2, found: [valid] },
    { step: 3, found: [liveness === "unknown" ? "only the token itself is known" : active] },
    { step: 4, found: [`the token is of ${placeText(context)}`] },
    { step: 5, found: [`the caller is a ${principal.kind}`] },
    { step: 6, found: [`the token has ${listed(scopes)}`] },
    { step: 7, found: resources.length === 0 ? ["the call names no resource"] : resources },
    { step: 8, found: [actorText(context)] },
  ]
}

function inactiveFound(context: AuthContext, facts: Facts, reason: Reason, nowMs: number): string | undefined {
  const { principal, session, revoked, minimum } = facts
  const sessionId = sessionOf(context)
  const isRevoked = (kind: Facts["revoked"][number]) => revoked.includes(kind)
  switch (reason) {
    case "PRINCIPAL_LOCKED":
    case "PRINCIPAL_INACTIVE": {
      // Only the installation's administrators see the status itself.
      const isOwn = principal !== "ACTIVE" || isRevoked("PRINCIPAL")
      return isOwn ? `${context.principal.id} is not active` : `the actor ${context.actor?.id} is not active`
    }
    case "IDENTITY_INACTIVE":
      return `the identity of ${context.principal.id} is not active`
    case "SESSION_REVOKED":
      return `${sessionId} is ${session === undefined ? "gone" : isRevoked("SESSION") ? "REVOKED" : session.status}`
    case "SESSION_EXPIRED": {
      const endedMs = Math.min(session?.idleExpiresAtMs ?? nowMs, session?.absoluteExpiresAtMs ?? nowMs)
      return `${sessionId} ended ${seconds(nowMs - endedMs)} ago`
    }
    case "CREDENTIAL_REVOKED":
      return `the credential ${context.credentialId} is revoked`
    case "TOKEN_REVOKED":
      return `the token ${context.tokenId} is revoked`
    case "PERMISSIONS_STALE":
      return `the token has the versions ${versions(context.versions)}, and needs at least ${versions(minimum)}`
    default:
      return undefined
  }
}

/**
 * Facts for the check, one per line. If the check failed a common step, such as freshness, that step's fact comes
 * first.
 */
export function foundFor(
  check: Requirement,
  failure: Failure | undefined,
  call: KnownCall,
  options: Inherited,
): readonly string[] {
  const beside = failure === undefined ? undefined : besideFound(failure, call, options)
  return [...(beside === undefined ? [] : [beside]), ...checkFound(check, call)]
}

function checkFound(check: Requirement, call: KnownCall): readonly string[] {
  const { context, request } = call
  switch (check.is) {
    case "scope":
      return [`the token has ${listed(context.scopes)}`]
    case "kinds":
      return [`the caller is a ${context.principal.kind}`]
    case "tenant": {
      const own = `the token is of ${context.tenantId ?? "no tenant"}`
      if (check.from === "TOKEN") return [own]
      return [own, `the request names ${request.tenants?.get(tenantKey(check)) ?? "none"}`]
    }
    case "delegated":
      return [actorText(context)]
    case "device":
      return [context.deviceId === null ? "the token is bound to no device" : `the token is of ${context.deviceId}`]
    case "role":
      return roleFound(check.role, call)
    case "action":
      return authorityFound(check.action, call, (grant, isInherited) => missOf(grant, isInherited, context, undefined))
    case "resourceAction": {
      const resource = request.resources?.get(resourceKey(check))
      if (resource === undefined) return [`the request names no ${check.type} that there is`]
      const where = `${resource.type} ${resource.id} is in ${placeText(resource)}`
      const grants = authorityFound(check.action, call, (grant, isInherited) =>
        missOf(grant, isInherited, resource, resource),
      )
      return [where, ...grants]
    }
    default:
      return []
  }
}

/** Describes which scopes allow a permission, and for each grant whether it applies or why not. */
function authorityFound(
  permission: string,
  { context, snapshot, nowMs }: KnownCall,
  missOfGrant: (grant: HeldGrant, isInherited: boolean) => string | undefined,
): readonly string[] {
  if (snapshot === null) return ["the caller's grants were not loaded"]
  const usable = isUsable(snapshot, context.scopes, permission)
  const grants = snapshot.grants.map((grant) => {
    const role = snapshot.roles.get(grant.roleId)
    const miss = (): string | undefined => {
      if (role === undefined) return "the role does not exist"
      if (!role.permissions.has(permission)) return `it has no ${permission}`
      return isLive(grant, nowMs) ? missOfGrant(grant, role.inheritable) : "it has expired"
    }
    return `${role?.key ?? grant.roleId} on ${nodeText(grant)}: ${miss() ?? "holds"}`
  })
  return [
    `${listed(context.scopes)} ${usable ? "lets" : "does not let"} the token use ${permission}`,
    ...(grants.length === 0 ? ["the caller has no grants"] : grants),
  ]
}

/** Describes for each grant whether it gives the role in the token's place, or why not. */
function roleFound(key: string, { context, snapshot, nowMs }: KnownCall): readonly string[] {
  if (snapshot === null) return ["the caller's grants were not loaded"]
  if (snapshot.grants.length === 0) return ["the caller has no grants"]
  return snapshot.grants.map((grant) => {
    const role = snapshot.roles.get(grant.roleId)
    const miss = (): string | undefined => {
      if (role === undefined) return "the role does not exist"
      if (role.key !== key) return `it is not ${key}`
      if (!isLive(grant, nowMs)) return "it has expired"
      if (reachesWhole(grant, role.inheritable, context)) return undefined
      if (grant.resource !== null) return "it is on one resource"
      return reachesWhole(grant, true, context) ? "it is not inherited" : "it is elsewhere"
    }
    return `${role?.key ?? grant.roleId} on ${nodeText(grant)}: ${miss() ?? "holds"}`
  })
}

/** Returns why a grant does not apply to a place or resource; undefined if it applies. */
function missOf(
  grant: HeldGrant,
  isInherited: boolean,
  place: Parameters<typeof reaches>[2],
  resource: ResourceRef | undefined,
): string | undefined {
  const holds = (inherited: boolean) =>
    resource === undefined ? reaches(grant, inherited, place) : covers(grant, inherited, resource)
  if (holds(isInherited)) return undefined
  return holds(true) ? "it is not inherited" : "it is elsewhere"
}

/** Describes a failure of a step that is common to all checks. */
function besideFound({ reason }: Failure, call: KnownCall, options: Inherited): string | undefined {
  const { context, request, liveness, nowMs } = call
  switch (reason) {
    case "REVOCATION_STATE_STALE": {
      const asOfMs = liveness === "unknown" ? context.issuedAtMs : liveness.asOfMs
      return `what is known is ${seconds(nowMs - asOfMs)} old, and may be ${seconds(options.freshness.maxStalenessMs)}`
    }
    case "APP_MISMATCH":
      return `the target is of ${request.appId ?? "no app"}, the token of ${context.appId}`
    case "TENANT_SUSPENDED":
    case "MEMBERSHIP_INACTIVE":
      return liveness === "unknown"
        ? undefined
        : `app, tenant, context and membership are ${placeFacts(liveness.facts)}`
    case "STEP_UP_REQUIRED":
      return context.authTimeMs === null
        ? "the token does not say when the user authenticated"
        : `the user signed in ${seconds(nowMs - context.authTimeMs)} ago`
    case "DELEGATION_EXPIRED":
    case "DELEGATION_CHAIN_TOO_DEEP":
      return actorText(context)
    case "JOB_MISMATCH":
      return `the call is of job ${request.jobId}, the token of ${context.delegation?.jobId}`
    default:
      return undefined
  }
}

type Facts = Exclude<Question["liveness"], "unknown">["facts"]
const placeFacts = ({ app, tenant, context, membership }: Facts) =>
  [app, tenant, context, membership].map((status) => status ?? "none").join(", ")

function actorText({ delegation }: AuthContext): string {
  return delegation === null ? "the call has no actor" : `${delegation.actorClientId} acts, ${delegation.depth} deep`
}

type Node = Parameters<typeof reaches>[2]

const placeText = ({ appId, tenantId, contextId }: Node) =>
  [appId, tenantId && `tenant ${tenantId}`, contextId && `context ${contextId}`].filter(Boolean).join(", ")

const nodeText = (grant: HeldGrant) =>
  grant.resource === null ? placeText(grant) : `${grant.resource.type} ${grant.resource.id} in ${placeText(grant)}`

const listed = (names: ReadonlySet<string>) => (names.size === 0 ? "no scope" : [...names].join(", "))
const versions = ({ principal, policy }: AuthorityVersions) => `${principal}.${policy}`
const seconds = (ms: number) => `${Math.floor(ms / 1_000)} s`
