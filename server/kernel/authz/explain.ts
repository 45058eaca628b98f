// Why a call is decided as it is: what was asked, what was found, and which part decided. The decision is authorize's
// own, and the parts are those that it goes through.
import { type AuthDecision, authorize, screen } from "./authorize.ts"
import type { Inherited } from "./check.ts"
import { evaluate, narrow, type Outcome } from "./evaluate.ts"
import { callerFound, foundFor } from "./findings.ts"
import type { KnownCall, Question } from "./question.ts"
import { describe, describeOptions, type Requirement } from "./requirement.ts"

export interface Explanation {
  readonly decision: AuthDecision
  /** Who calls, in a line. */
  readonly caller: string
  /** Undefined where it did not come to that: the caller is not known, not active, or need not be. */
  readonly requirement: Explained | undefined
}

/** A requirement, or a part of one. */
export interface Explained {
  /** As `describe` has it; a composite is "all of" or "any of". */
  readonly asked: string
  readonly holds: boolean
  /** Where it does not hold: the step, 3 to 8, and the reason, as the audit has it. */
  readonly failed: { readonly step: number; readonly reason: string } | undefined
  /** What was seen of the call, a line each. */
  readonly found: readonly string[]
  /** True for the check that decided, and for each composite around it. */
  readonly isDecisive: boolean
  readonly of: readonly Explained[]
}

export function explain(question: Question): Explanation {
  const decision = authorize(question)
  return { decision, caller: callerFound(question), requirement: explainRequirement(question) }
}

function explainRequirement(question: Question): Explained | undefined {
  try {
    const call = screen(question)
    if ("allow" in call) return undefined
    const inherited = { freshness: call.defaultFreshness }
    const outcome = evaluate(call.requirement, call, inherited)
    return explainPart(call.requirement, outcome, call, inherited, !outcome.passed)
  } catch {
    // A requirement that is none: the decision says INTERNAL.
    return undefined
  }
}

const names = { anyOf: "any of", allOf: "all of" }

function explainPart(
  requirement: Requirement,
  outcome: Outcome,
  call: KnownCall,
  inherited: Inherited,
  isDecisive: boolean,
): Explained {
  const options = narrow(inherited, requirement)
  const isComposite = requirement.is === "anyOf" || requirement.is === "allOf"
  const failure = outcome.passed ? undefined : outcome
  return {
    asked: isComposite ? [names[requirement.is], ...describeOptions(requirement)].join(", ") : describe(requirement),
    holds: outcome.passed,
    failed: failure && { step: failure.step, reason: failure.trueReason ?? failure.reason },
    found: isComposite ? [] : foundFor(requirement, failure, call, options),
    isDecisive,
    of: isComposite
      ? requirement.of.flatMap((part, i) => {
          const of = outcome.of[i]
          return of === undefined ? [] : [explainPart(part, of, call, options, isDecisive && failure?.told === of)]
        })
      : [],
  }
}
