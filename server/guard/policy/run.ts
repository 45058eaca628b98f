import { explain } from "@signet/kernel/authz/explain"
import { decisionText, explanationText } from "@signet/kernel/authz/explain-text"
import { type PolicyTest, parsePolicyFile } from "./policy-file.ts"
import type { FindMethod } from "./requirements.ts"

export interface PolicyResult extends Pick<PolicyTest, "name" | "caller" | "expected" | "place"> {
  /** As `expected`, with all that is told. */
  readonly decided: string
  readonly passed: boolean
  /** Why it was decided so: several lines. */
  readonly explanation: string
}

/** Decides every case of a file. @throws PolicyFileError when the file says what cannot be tested. */
export function runPolicyFile(text: string, findMethod: FindMethod): readonly PolicyResult[] {
  return parsePolicyFile(text, findMethod).map(({ question, ...test }) => {
    const explanation = explain(question)
    const decided = decisionText(explanation.decision)
    // What is told beside a reason counts where the file names it.
    const passed = test.expected === decided || test.expected === decided.split(" ")[0]
    return { ...test, decided, passed, explanation: explanationText(explanation) }
  })
}
