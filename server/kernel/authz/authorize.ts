// The specification's authorization algorithm: nine steps, in order, without a clock, a store or a network.
import { type Reason, refusals } from "../errors.ts"
import type { AppId } from "../ids.ts"
import { type Failure, failureOf, type Inherited, type KnownCall } from "./check.ts"
import type { AuthContext } from "./context.ts"
import type { Grant, ResourceRef } from "./grants.ts"
import { inactivity, type Liveness } from "./liveness.ts"
import type { Freshness, Requirement } from "./requirement.ts"

/** What the request says and what the target found for it. */
export interface RequestFacts {
  /** The app that the route belongs to; undefined where it serves every app. */
  readonly appId?: AppId
  /** The tenants that the request names, by tenantKey. */
  readonly tenants?: ReadonlyMap<string, string>
  /** The resources that the request names, as the target found them, by resourceKey; what is missing was not found. */
  readonly resources?: ReadonlyMap<string, ResourceRef>
  /** The job that the call is a part of, where the target knows it. */
  readonly jobId?: string
}

export interface Question {
  /** Who calls, or why that is not known. */
  readonly context: AuthContext | Reason
  readonly requirement: Requirement
  readonly expected: { readonly issuer: string; readonly audience: string }
  readonly request: RequestFacts
  /** "unknown": nothing is known but that the token was issued, so what is known is as old as the token. */
  readonly liveness: Liveness | "unknown"
  /** Holds where the requirement says nothing. */
  readonly defaultFreshness: Freshness
  readonly grants: readonly Grant[]
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number
}

export interface Allow {
  readonly allow: true
  /** Undefined only for `public`, and for `bodyCredential` without a valid token. */
  readonly context: AuthContext | undefined
}

export interface Deny {
  readonly allow: false
  readonly reason: Reason
  readonly statusCode: number
  /** May be shown to the caller. */
  readonly safeMessage: string
  /** For WWW-Authenticate and ErrorInfo: `scope`, `permission`, `max_age`. */
  readonly metadata: Readonly<Record<string, string>>
  /** The step that failed, 1 to 8; 0 for a fault. */
  readonly step: number
  /** For the audit, where the caller may not be told: whether a resource exists elsewhere. */
  readonly trueReason: Reason
  /** Fresher facts about the token could turn this into Allow: ask its issuer. */
  readonly introspect: boolean
}

export type AuthDecision = Allow | Deny

/** May this call go on? A fault of the authorizer itself is a denial. */
export function authorize(question: Question): AuthDecision {
  try {
    return decide(question)
  } catch {
    return denyOf({ step: 0, reason: "INTERNAL" })
  }
}

function decide(question: Question): AuthDecision {
  const { context, requirement } = question
  if (requirement.is === "public") return { allow: true, context: undefined }
  if (typeof context === "string") {
    if (requirement.is === "bodyCredential") return { allow: true, context: undefined }
    return denyOf({ step: stepOf(context), reason: context })
  }
  const mismatch = mismatchOf(context, question.expected)
  if (requirement.is === "bodyCredential") {
    // Ending a session again is no error, so the handler is told who calls although the session may have ended.
    const isUsable = mismatch === undefined && (context.actor === null || requirement.allowDelegated === true)
    return { allow: true, context: isUsable ? context : undefined }
  }
  if (mismatch !== undefined) return denyOf({ step: 2, reason: mismatch })
  const inactive =
    question.liveness === "unknown" ? undefined : inactivity(context, question.liveness.facts, question.nowMs)
  if (inactive !== undefined) return denyOf({ step: 3, reason: inactive })
  const outcome = evaluate(requirement, { ...question, context }, { freshness: question.defaultFreshness })
  if (!outcome.passed) return denyOf(outcome)
  // A token with an actor is taken only where something says so.
  if (context.actor !== null && !outcome.takesActor) return denyOf({ step: 8, reason: "ACTOR_NOT_ALLOWED" })
  return { allow: true, context }
}

function mismatchOf(context: AuthContext, expected: Question["expected"]): Reason | undefined {
  if (context.issuer !== expected.issuer) return "ISSUER_MISMATCH"
  return context.audience === expected.audience ? undefined : "AUDIENCE_MISMATCH"
}

type Outcome = { readonly passed: true; readonly takesActor: boolean } | ({ readonly passed: false } & Failure)

function evaluate(requirement: Requirement, call: KnownCall, inherited: Inherited): Outcome {
  const options = narrow(inherited, requirement)
  switch (requirement.is) {
    case "public":
    case "bodyCredential":
      throw new Error(`${requirement.is} inside a composite`)
    case "anyOf":
      return anyOf(requirement, partsOf(requirement, call, options))
    case "allOf":
      return allOf(requirement, partsOf(requirement, call, options))
    case "scope":
    case "action":
    case "resourceAction":
    case "kinds":
    case "tenant":
    case "delegated":
    case "device": {
      const failure = failureOf(requirement, call, options)
      if (failure !== undefined) return { passed: false, ...failure }
      return { passed: true, takesActor: requirement.is === "delegated" || requirement.allowDelegated === true }
    }
    default:
      return unknownCheck(requirement)
  }
}

function unknownCheck(check: never): never {
  throw new Error(`an unknown check: ${JSON.stringify(check)}`)
}

function narrow(inherited: Inherited, own: Requirement): Inherited {
  const ages = [inherited.maxAuthAgeSeconds, own.maxAuthAgeSeconds].filter((age) => age !== undefined && age > 0)
  return {
    freshness: own.freshness ?? inherited.freshness,
    ...(ages.length === 0 ? {} : { maxAuthAgeSeconds: Math.min(...ages.map(Number)) }),
  }
}

type Composite = Extract<Requirement, { is: "anyOf" | "allOf" }>

function partsOf(composite: Composite, call: KnownCall, options: Inherited): readonly Outcome[] {
  if (composite.of.length === 0) throw new Error("an empty composite")
  return composite.of.map((part) => evaluate(part, call, options))
}

/** Passes with any; else tells of the part that got furthest, the first of those that got equally far. */
function anyOf(composite: Composite, outcomes: readonly Outcome[]): Outcome {
  const passed = outcomes.filter((outcome) => outcome.passed)
  if (passed.length > 0) {
    return {
      passed: true,
      takesActor: composite.allowDelegated === true || passed.some(({ takesActor }) => takesActor),
    }
  }
  return pick(outcomes, (a, b) => a.step >= b.step)
}

/** Passes with all; else tells of the part that failed at the earliest step, the first of those. */
function allOf(composite: Composite, outcomes: readonly Outcome[]): Outcome {
  if (outcomes.every((outcome) => outcome.passed)) {
    return {
      passed: true,
      takesActor: composite.allowDelegated === true || outcomes.some(({ takesActor }) => takesActor),
    }
  }
  return pick(outcomes, (a, b) => a.step <= b.step)
}

function pick(outcomes: readonly Outcome[], isBetter: (a: Failure, b: Failure) => boolean): Outcome {
  const failures = outcomes.filter((outcome) => !outcome.passed)
  const told = failures.reduce((best, next) => (isBetter(best, next) ? best : next))
  return { ...told, introspect: failures.some(({ introspect }) => introspect === true) }
}

const notSent: ReadonlySet<Reason> = new Set<Reason>([
  "NO_CREDENTIAL",
  "MALFORMED_CREDENTIAL",
  "PAT_NOT_BEARER",
  "PROVIDER_TOKEN_NOT_ACCEPTED",
  "REFRESH_TOKEN_NOT_BEARER",
])

/** The step that a verifier's reason belongs to. */
function stepOf(reason: Reason): number {
  if (notSent.has(reason)) return 1
  const { status } = refusals[reason]
  if (status === 401) return 2
  return status === 403 ? 8 : 0
}

function denyOf(failure: Failure): Deny {
  const { status, message } = refusals[failure.reason]
  return {
    allow: false,
    reason: failure.reason,
    statusCode: status,
    safeMessage: message,
    metadata: failure.metadata ?? {},
    step: failure.step,
    trueReason: failure.trueReason ?? failure.reason,
    introspect: failure.introspect === true,
  }
}
