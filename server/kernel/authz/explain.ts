// Explains an authorization decision: what was required, what the call had, and which part decided. It uses `authorize`
// itself and the same evaluation.
import { type AuthDecision, authorize, screen } from "./authorize.ts"
import type { Inherited } from "./check.ts"
import { evaluate, narrow, type Outcome } from "./evaluate.ts"
import { callerFound, foundFor, type PassedStep, passedFound, screenFound } from "./findings.ts"
import type { KnownCall, Question } from "./question.ts"
import { describe, describeOptions, type Requirement } from "./requirement.ts"

export interface Explanation {
  readonly decision: AuthDecision
  /** The caller, in one line. */
  readonly caller: string
  /** The fact by which a step before the requirement refused the call; empty if none did. */
  readonly found: readonly string[]
  /** The steps that passed, in order, with what each found. Empty if the requirement needs no caller. */
  readonly passed: readonly PassedStep[]
  /** Undefined if the requirement was not evaluated: the caller is unknown, inactive or not needed. */
  readonly requirement: Explained | undefined
}

/** A requirement or a part of one. */
export interface Explained {
  /** The text of `describe`; "all of" or "any of" for a composite. */
  readonly asked: string
  readonly holds: boolean
  /** If it does not hold: the step, 3 to 8, and the reason that the audit log records. */
  readonly failed: { readonly step: number; readonly reason: string } | undefined
  /** Facts of the call, one per line. */
  readonly found: readonly string[]
  /** True for the check that decided and for each composite around it. */
  readonly isDecisive: boolean
  readonly of: readonly Explained[]
}

export function explain(question: Question): Explanation {
  const decision = authorize(question)
  const requirement = explainRequirement(question)
  const found = requirement === undefined && !decision.allow ? screenFound(question, decision.trueReason) : []
  const passed = passedFound(question, decision.allow ? 9 : decision.step)
  return { decision, caller: callerFound(question), found, passed, requirement }
}

function explainRequirement(question: Question): Explained | undefined {
  try {
    const call = screen(question)
    if ("allow" in call) return undefined
    const inherited = { freshness: call.defaultFreshness }
    const outcome = evaluate(call.requirement, call, inherited)
    return explainPart(call.requirement, outcome, call, inherited, !outcome.passed)
  } catch {
    // The requirement is malformed; the decision is INTERNAL.
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
          return of === undefined ? [] : [explainPart(part, of, call, options, isDecisive && failure?.reported === of)]
        })
      : [],
  }
}
