// Parses a file of policy tests; docs/how-to/policy-tests.md describes the format.
import type { Question } from "@signet/kernel/authz/question"
import { checksIn, type Requirement, resourceKey, tenantKey } from "@signet/kernel/authz/requirement"
import { refusals } from "@signet/kernel/errors"
import { type FindMethod, readRequirement } from "./requirements.ts"
import { type Caller, expected, mapped, readCaller, readWorld, type World } from "./world.ts"
import { type Place, readYaml, type Value } from "./yaml-reader.ts"

/** One caller of one case. */
export interface PolicyTest {
  readonly name: string
  readonly caller: string
  /** `allow`, or a reason, optionally with its metadata: `MISSING_SCOPE notes.write`. */
  readonly expected: string
  readonly question: Question
  readonly place: Place
}

/** @throws PolicyFileError if the file is invalid. */
export function parsePolicyFile(text: string, findMethod: FindMethod): readonly PolicyTest[] {
  const root = readYaml(text)
  const file = root.map(["app", "now", "roles", "scopes", "resources", "requirements", "callers", "cases"])
  const world = readWorld(file)
  const requirements = new Map<string, Requirement>()
  for (const [name, value] of file.get("requirements")?.map() ?? []) {
    requirements.set(name, readRequirement(value, requirements, findMethod))
  }
  const callers = mapped(file.get("callers"), (value, name) => readCaller(value, name, world))
  const cases = file.get("cases")?.list() ?? []
  if (cases.length === 0) root.fail("the file has no cases")
  return cases.flatMap((value) =>
    readCase(value, { world, callers, requirementOf: (of) => readRequirement(of, requirements, findMethod) }),
  )
}

interface Known {
  readonly world: World
  readonly callers: ReadonlyMap<string, Caller>
  requirementOf(value: Value): Requirement
}

const defaultFreshness = { maxStalenessMs: 60_000, onStale: "INTROSPECT" } as const

function readCase(value: Value, { world, callers, requirementOf }: Known): readonly PolicyTest[] {
  const of = value.map(["name", "requirement", "request", "target", "job", "expect"])
  const required = (name: string): Value => of.get(name) ?? value.fail(`a case must have ${name}`)
  const name = required("name").text()
  const requirement = requirementOf(required("requirement"))
  const request = requestOf(of, requirement, world)
  const outcomes = [...required("expect").map()]
  if (outcomes.length === 0) required("expect").fail("expect must name at least one caller")
  return outcomes.map(([who, outcome]): PolicyTest => {
    const caller = callers.get(who)
    if (caller === undefined && who !== "nobody") outcome.fail(`unknown caller "${who}"`)
    const question: Question = {
      context: caller?.context ?? "NO_CREDENTIAL",
      requirement,
      expected,
      request,
      liveness: caller?.liveness ?? "unknown",
      defaultFreshness,
      snapshot: caller?.snapshot ?? null,
      nowMs: world.nowMs,
    }
    return { name, caller: who, expected: expectedOf(outcome), question, place: outcome.place }
  })
}

/** The values of the request by field, for every check that reads the field, from whichever source. */
function requestOf(
  of: ReadonlyMap<string, Value>,
  requirement: Requirement,
  { resources }: World,
): Question["request"] {
  const named = of.get("request")?.map() ?? new Map<string, Value>()
  const checks = checksIn(requirement)
  const fields = new Set(checks.flatMap((check) => ("field" in check && check.field !== "" ? [check.field] : [])))
  for (const [field, value] of named) {
    if (!fields.has(field))
      value.fail(`the requirement does not use "${field}"; it uses ${[...fields].join(", ") || "nothing"}`)
  }
  const textOf = (field: string) => named.get(field)?.text()
  return {
    ...target(of),
    tenants: new Map(
      checks.flatMap((check) => {
        const tenant = check.is === "tenant" ? textOf(check.field) : undefined
        return check.is === "tenant" && tenant !== undefined ? [[tenantKey(check), tenant]] : []
      }),
    ),
    resources: new Map(
      checks.flatMap((check) => {
        const resource = check.is === "resourceAction" ? resources.get(textOf(check.field) ?? "") : undefined
        return check.is === "resourceAction" && resource !== undefined ? [[resourceKey(check), resource]] : []
      }),
    ),
  }
}

function target(of: ReadonlyMap<string, Value>): Pick<Question["request"], "appId" | "jobId"> {
  const [appId, jobId] = [of.get("target")?.text(), of.get("job")?.text()]
  return { ...(appId && { appId }), ...(jobId && { jobId }) } as Pick<Question["request"], "appId" | "jobId">
}

function expectedOf(value: Value): string {
  const [decision = ""] = value.text().split(" ")
  if (decision === "allow" ? value.text() === decision : Object.hasOwn(refusals, decision)) return value.text()
  return value.fail(`"${value.text()}" must be allow, or a reason of docs/reference/errors.md`)
}
