// The guard's golden vectors, as far as they ask for scopes, kinds and tenants alone.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { JsonValue } from "@bufbuild/protobuf"
import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Situation } from "../../../server/guard/vectors/situations.ts"
import { root } from "./workspace.ts"

export interface Vector {
  readonly name: string
  readonly asked: {
    readonly requirement: JsonValue
    readonly claims: unknown
    /** By source and field: "BODY tenant_id". */
    readonly tenants: Readonly<Record<string, string>>
  }
  readonly decided: Decided
}

export interface Decided {
  readonly allow: boolean
  readonly reason?: string
  readonly status?: number
  readonly message?: string
  /** What is told beside the reason: the scope that is missing. Absent for nothing. */
  readonly metadata?: Readonly<Record<string, string>>
}

interface Golden {
  readonly claims: Readonly<Record<string, unknown>>
  readonly requirements: Readonly<Record<string, Requirement>>
  readonly situations: Readonly<Record<string, Situation>>
  readonly cases: readonly { readonly requirement: string; readonly situation: string; readonly expected: Decided }[]
}

/** What is decided after the token was taken, by these checks. */
const ofThese: ReadonlySet<string> = new Set([
  "TENANT_REQUIRED",
  "TENANT_MISMATCH",
  "PRINCIPAL_KIND_NOT_ALLOWED",
  "MISSING_SCOPE",
  "ACTOR_NOT_ALLOWED",
])
const inClaimsAndRequest: ReadonlySet<string> = new Set(["claims", "request"])

export function goldenVectors(): readonly Vector[] {
  const text = readFileSync(join(root, "server/guard/vectors/decisions.json"), "utf8")
  const { claims, requirements, situations, cases }: Golden = JSON.parse(text)
  return cases.flatMap(({ requirement: named, situation: placed, expected }) => {
    const requirement = requirements[named]
    const situation = situations[placed]
    const wire = requirement && wireOf(requirement)
    if (requirement === undefined || wire === undefined || situation === undefined) return []
    if (!Object.keys(situation).every((member) => inClaimsAndRequest.has(member))) return []
    if (expected.reason !== undefined && !ofThese.has(expected.reason)) return []
    const { allow, reason, status, message, metadata = {} } = expected
    const changed = Object.entries({ ...claims, ...situation.claims }).filter(([, value]) => value !== null)
    const tenants = Object.entries(situation.request ?? {}).flatMap(([field, value]) =>
      ["BODY", "PATH", "HEADER"].map((from) => [`${from} ${field}`, value]),
    )
    return {
      name: `${named}: ${placed}`,
      asked: { requirement: wire, claims: Object.fromEntries(changed), tenants: Object.fromEntries(tenants) },
      decided: {
        allow,
        ...(reason && { reason }),
        ...(status && { status }),
        ...(message && { message }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
      },
    }
  })
}

/** An AuthRequirement as JSON; undefined for one that asks for more. */
function wireOf(requirement: Requirement): JsonValue | undefined {
  if (requirement.freshness !== undefined || requirement.maxAuthAgeSeconds !== undefined) return undefined
  const check = wireCheck(requirement)
  return check && { ...check, ...(requirement.allowDelegated === true ? { allowDelegated: true } : {}) }
}

function wireCheck(requirement: Requirement): Record<string, JsonValue> | undefined {
  switch (requirement.is) {
    case "scope":
      return { scope: requirement.scope }
    case "kinds":
      return { kinds: { of: [...requirement.of] } }
    case "tenant":
      return { tenant: { from: requirement.from, field: requirement.field } }
    case "anyOf":
    case "allOf": {
      const parts = requirement.of.map(wireOf).filter((part) => part !== undefined)
      return parts.length === requirement.of.length ? { [requirement.is]: { of: parts } } : undefined
    }
    default:
      return undefined
  }
}
