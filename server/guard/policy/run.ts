import { explain } from "@signet/kernel/authz/explain"
import { decisionText, explanationText } from "@signet/kernel/authz/explain-text"
import { type PolicyTest, parsePolicyFile } from "./policy-file.ts"
import type { FindMethod } from "./requirements.ts"

export interface PolicyResult extends Pick<PolicyTest, "name" | "caller" | "expected" | "place"> {
  /** The decision in the form of `expected`, with metadata. */
  readonly decided: string
  readonly passed: boolean
  /** Explanation of the decision, several lines. */
  readonly explanation: string
}

/** Decides every case of a file. @throws PolicyFileError if the file is invalid. */
export function runPolicyFile(text: string, findMethod: FindMethod): readonly PolicyResult[] {
  return parsePolicyFile(text, findMethod).map(({ question, ...test }) => {
    const explanation = explain(question)
    const decided = decisionText(explanation.decision)
    // Metadata is compared only if the file states it.
    const passed = test.expected === decided || test.expected === decided.split(" ")[0]
    return { ...test, decided, passed, explanation: explanationText(explanation) }
  })
}
