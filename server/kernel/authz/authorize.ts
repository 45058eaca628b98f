// The specification's authorization algorithm: nine ordered steps without a clock, a store or the network.
import { type Reason, refusals } from "../errors.ts"
import type { Failure } from "./check.ts"
import type { AuthContext } from "./context.ts"
import { evaluate } from "./evaluate.ts"
import { inactivity } from "./liveness.ts"
import type { KnownCall, Question } from "./question.ts"

export interface Allow {
  readonly allow: true
  /** Undefined only for `public`, and for `bodyCredential` without a valid token. */
  readonly context: AuthContext | undefined
}

export interface Deny {
  readonly allow: false
  readonly reason: Reason
  readonly statusCode: number
  /** Safe to show to the caller. */
  readonly safeMessage: string
  /** For WWW-Authenticate and ErrorInfo: `scope`, `permission`, `role`, `max_age`. */
  readonly metadata: Readonly<Record<string, string>>
  /** The step that failed, 1 to 8; 0 for an internal error. */
  readonly step: number
  /** For the audit log only. It can differ from `reason`, which does not reveal whether a resource exists elsewhere. */
  readonly trueReason: Reason
  /** Introspection at the issuer could change the decision to Allow. */
  readonly introspect: boolean
}

export type AuthDecision = Allow | Deny

/** Decides a call. An exception in the authorizer is a denial. */
export function authorize(question: Question): AuthDecision {
  try {
    return decide(question)
  } catch {
    return denyOf({ step: 0, reason: "INTERNAL" })
  }
}

function decide(question: Question): AuthDecision {
  const call = screen(question)
  if ("allow" in call) return call
  const outcome = evaluate(call.requirement, call, { freshness: call.defaultFreshness })
  if (!outcome.passed) return denyOf(outcome)
  // A token with an actor is accepted only if the requirement allows it.
  if (call.context.actor !== null && !outcome.takesActor) return denyOf({ step: 8, reason: "ACTOR_NOT_ALLOWED" })
  return { allow: true, context: call.context }
}

/**
 * Performs steps 1 to 3. Returns a decision if the caller is not needed or is refused; otherwise the call with its
 * caller.
 */
export function screen(question: Question): AuthDecision | KnownCall {
  const { context, requirement } = question
  if (requirement.is === "public") return { allow: true, context: undefined }
  if (typeof context === "string") {
    if (requirement.is === "bodyCredential") return { allow: true, context: undefined }
    return denyOf({ step: stepOf(context), reason: context })
  }
  const mismatch = mismatchOf(context, question.expected)
  if (requirement.is === "bodyCredential") {
    // The handler receives the caller even if the session has ended, so that ending a session is idempotent.
    const isOfApp = question.request.appId === undefined || question.request.appId === context.appId
    const isTaken = context.actor === null || requirement.allowDelegated === true
    const isUsable = mismatch === undefined && isOfApp && isTaken
    return { allow: true, context: isUsable ? context : undefined }
  }
  if (mismatch !== undefined) return denyOf({ step: 2, reason: mismatch })
  const inactive =
    question.liveness === "unknown" ? undefined : inactivity(context, question.liveness.facts, question.nowMs)
  return inactive === undefined ? { ...question, context } : denyOf({ step: 3, reason: inactive })
}

function mismatchOf(context: AuthContext, expected: Question["expected"]): Reason | undefined {
  if (context.issuer !== expected.issuer) return "ISSUER_MISMATCH"
  return context.audience === expected.audience ? undefined : "AUDIENCE_MISMATCH"
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
  if (reason === "PERMISSIONS_STALE") return 3
  const { status } = refusals[reason]
  if (status === 401) return 2
  return status === 403 ? 8 : 0
}

/** The denial of a call that is refused before authorization, for example because of its token. */
export const denialOf = (reason: Reason): Deny => denyOf({ step: stepOf(reason), reason })

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
