import type { Mutant } from "./mutant.ts"

const authz = "server/kernel/authz"
const policy = "server/guard/policy"
const composites = { file: `${authz}/evaluate.ts`, test: `${authz}/composites.test.ts` }
const policyTest = `${policy}/policy.test.ts`

/** Mutants of composite requirements and grants, of the explanations of decisions, and of policy tests. */
export const authorizationMutants: readonly Mutant[] = [
  {
    fault: "all of is met by any",
    from: "if (of.every((outcome) => outcome.passed)) {",
    to: "if (of.some((outcome) => outcome.passed)) {",
    name: "all: one is not enough",
    ...composites,
  },
  {
    fault: "any of takes an actor for a part that failed",
    from: "passed.some(({ takesActor }) => takesActor)",
    to: 'composite.of.some(({ is }) => is === "delegated")',
    name: "any of: the part that holds does not",
    ...composites,
  },
  {
    fault: "a grant on a resource of no tenant is one on every tenant's",
    file: `${authz}/grants.ts`,
    from: "return isAt(grant, resource)",
    to: "return isAround(grant, resource)",
    test: `${authz}/effective.test.ts`,
    name: "a grant on a resource covers only that resource, in its own place",
  },
  {
    fault: "an explanation blames the first part that failed",
    file: `${authz}/explain.ts`,
    from: "isDecisive && failure?.reported === of",
    to: "isDecisive && failure?.of.find((one) => !one.passed) === of",
    test: `${authz}/explain.test.ts`,
    name: "marks the decisive check among the failed ones",
  },
  {
    fault: "a policy test that expects another scope passes",
    file: `${policy}/run.ts`,
    from: 'test.expected === decided || test.expected === decided.split(" ")[0]',
    to: 'test.expected.split(" ")[0] === decided.split(" ")[0]',
    test: policyTest,
    name: "that expects MISSING_SCOPE notes fails, and says why",
    row: "MISSING_SCOPE notes",
  },
  {
    fault: "a typo in a policy file is passed over",
    file: `${policy}/yaml-reader.ts`,
    from: "known !== undefined && !known.includes(name)",
    to: "false && !known?.includes(name)",
    test: policyTest,
    name: "a name that is not known",
  },
]
