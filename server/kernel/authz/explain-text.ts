import type { AuthDecision } from "./authorize.ts"
import type { Explained, Explanation } from "./explain.ts"

/** `allow`, or the reason with its metadata, such as `MISSING_SCOPE notes.write`. */
export function decisionText(decision: AuthDecision): string {
  return decision.allow ? "allow" : [decision.reason, ...Object.values(decision.metadata)].join(" ")
}

/**
 * Formats an explanation: the decision, the caller, and the requirement as a tree with the decisive check marked.
 *
 * @param indent Prefix of every line.
 */
export function explanationText({ decision, caller, found, requirement }: Explanation, indent = ""): string {
  return [
    `${decisionText(decision)}${decision.allow ? "" : `: ${decision.statusCode}, step ${decision.step}, ${decision.safeMessage}`}`,
    `  ${caller}`,
    ...found.map((line) => `    ${line}`),
    ...(requirement === undefined ? [] : treeLines(requirement, "  ")),
    ...actorLines(decision, requirement),
  ]
    .map((line) => indent + line)
    .join("\n")
}

/** Explains a refusal although the requirement holds: no passing check accepts a token with an actor. */
function actorLines(decision: AuthDecision, requirement: Explained | undefined): readonly string[] {
  return !decision.allow && requirement?.holds === true ? [`  ✗ nothing that holds takes an actor ${mark}`] : []
}

const mark = "← this decides"

function treeLines(part: Explained, indent: string): readonly string[] {
  const { failed } = part
  const isCheck = part.of.length === 0
  const why = failed === undefined || !isCheck ? "" : `: step ${failed.step}, ${failed.reason}`
  return [
    `${indent}${part.holds ? "✓" : "✗"} ${part.asked}${why}${part.isDecisive && isCheck ? ` ${mark}` : ""}`,
    ...part.found.map((line) => `${indent}    ${line}`),
    ...part.of.flatMap((inner) => treeLines(inner, `${indent}  `)),
  ]
}
