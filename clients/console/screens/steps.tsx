import { Reason } from "@signet/proto/authz/v1/reason"
import type { ReactNode } from "react"
import { t } from "../text/why.ts"
import type { StepFacts } from "./step-facts.ts"

interface StepsProps {
  /** The step that decided; 9 if the call is allowed, 0 if an error did. */
  readonly step: number
  readonly reason: string
  /** The findings of the deciding step. */
  readonly facts: readonly string[]
  /** The facts of the steps that passed. */
  readonly passed: StepFacts
}

/** The nine steps in order: those that passed, the one that decided, and those that were not reached. */
export function Steps({ step, reason, facts, passed }: StepsProps): ReactNode {
  const change = t.why.changes[reason]
  return (
    <>
      <ol className="steps">
        {t.why.stepNames.map(([name, about], index) => {
          const number = index + 1
          const state = stateOf(number, step)
          return (
            <li key={name} className={`step step-${state}`}>
              <div>
                <p className="strong">
                  {name} <span className="step-state">{t.why.states[state]}</span>
                </p>
                <p className="signet-muted">{about}</p>
                {state === "passed" && passed[number]?.map((fact) => <p key={fact}>{fact}</p>)}
                {state === "failed" && (
                  <>
                    <p className="step-reason">
                      <code>{reason}</code>
                    </p>
                    <ul>
                      {facts.map((fact) => (
                        <li key={fact}>{fact}</li>
                      ))}
                    </ul>
                  </>
                )}
              </div>
            </li>
          )
        })}
      </ol>
      {change !== undefined && step < 9 && (
        <p className="notice">
          <span className="strong">{t.why.change}</span> {change}
        </p>
      )}
    </>
  )
}

function stateOf(number: number, step: number): "passed" | "failed" | "unreached" {
  if (number < step || step === 9) return "passed"
  return number === step ? "failed" : "unreached"
}

/** The step that a reason belongs to. The contract numbers reasons by step. */
export function stepOf(reason: Reason): number {
  if (reason === Reason.RESOURCE_UNRESOLVED) return 4
  if (reason === Reason.DEVICE_REQUIRED || reason === Reason.DEVICE_PROOF_INVALID) return 3
  const starts = [1, 20, 40, 60, 80, 90, 110, 120, 140]
  return reason >= 140 ? 0 : starts.findLastIndex((start) => reason >= start) + 1
}
