// Evaluates a requirement for a known caller: single checks, and composites of them.
import { type Failure, failureOf, type Inherited } from "./check.ts"
import type { KnownCall } from "./question.ts"
import type { Requirement } from "./requirement.ts"

interface Parts {
  /** Outcomes of a composite's parts, in order; empty for a check. */
  readonly of: readonly Outcome[]
}

interface Passed extends Parts {
  readonly passed: true
  /** True if a token with an actor is accepted. */
  readonly takesActor: boolean
}

export interface Failed extends Parts, Failure {
  readonly passed: false
  /** The part whose failure is reported; undefined for a check. */
  readonly reported?: Outcome
}

export type Outcome = Passed | Failed

/** @throws Error if the requirement is malformed: a programming error. */
export function evaluate(requirement: Requirement, call: KnownCall, inherited: Inherited): Outcome {
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
    case "role":
    case "resourceAction":
    case "kinds":
    case "tenant":
    case "delegated":
    case "device": {
      const failure = failureOf(requirement, call, options)
      if (failure !== undefined) return { passed: false, ...failure, of: none }
      const takesActor = requirement.is === "delegated" || requirement.allowDelegated === true
      return { passed: true, takesActor, of: none }
    }
    default:
      return unknownCheck(requirement)
  }
}

const none: readonly Outcome[] = []

function unknownCheck(check: never): never {
  throw new Error(`an unknown check: ${JSON.stringify(check)}`)
}

/** Combines inherited and own options: the shorter maximum age applies, and the inner freshness. */
export function narrow(inherited: Inherited, own: Requirement): Inherited {
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

/** Passes if any part passes. Otherwise reports the part that failed at the latest step, the first of several. */
function anyOf(composite: Composite, of: readonly Outcome[]): Outcome {
  const passed = of.filter((outcome) => outcome.passed)
  if (passed.length > 0) {
    return {
      passed: true,
      takesActor: composite.allowDelegated === true || passed.some(({ takesActor }) => takesActor),
      of,
    }
  }
  return pick(of, (a, b) => a.step >= b.step)
}

/** Passes if all parts pass. Otherwise reports the part that failed at the earliest step, the first of several. */
function allOf(composite: Composite, of: readonly Outcome[]): Outcome {
  if (of.every((outcome) => outcome.passed)) {
    return {
      passed: true,
      takesActor: composite.allowDelegated === true || of.some(({ takesActor }) => takesActor),
      of,
    }
  }
  return pick(of, (a, b) => a.step <= b.step)
}

function pick(of: readonly Outcome[], isBetter: (a: Failure, b: Failure) => boolean): Failed {
  const failures = of.filter((outcome) => !outcome.passed)
  const reported = failures.reduce((best, next) => (isBetter(best, next) ? best : next))
  return { ...reported, introspect: failures.some(({ introspect }) => introspect === true), of, reported }
}
