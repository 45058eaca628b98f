// Validates requirements that are built in code, before the first call.
import type { Requirement, Source } from "@signet/kernel/authz/requirement"

/** For each source, tests whether the target can read a field. The target lacks sources that are not listed. */
export type Readable = Partial<Readonly<Record<Source, (field: string) => boolean>>>

/** @throws Error if the target cannot check the requirement. */
export function checkRequirement(requirement: Requirement, readable: Readable, isInComposite = false): void {
  if (requirement.freshness !== undefined && !(requirement.freshness.maxStalenessMs >= 0)) {
    throw new Error("freshness requires max_staleness")
  }
  switch (requirement.is) {
    case "public":
    case "bodyCredential":
      if (isInComposite) throw new Error(`${requirement.is} inside a composite`)
      return
    case "anyOf":
    case "allOf":
      if (requirement.of.length === 0) throw new Error(`an empty ${requirement.is}`)
      for (const part of requirement.of) checkRequirement(part, readable, true)
      return
    case "tenant":
      if (requirement.from !== "TOKEN") checkSource(requirement.from, requirement.field, readable)
      return
    case "resourceAction":
      if (requirement.from === "TOKEN") throw new Error("a token names no resource")
      checkSource(requirement.from, requirement.field, readable)
      return
    case "device":
      if (requirement.proof) throw new Error("a device proof is only possible for an RPC")
      return
    case "kinds":
      if (requirement.of.length === 0) throw new Error("kinds must have at least one kind")
      return
    case "delegated":
      if (requirement.actors.length === 0) throw new Error("delegated must have at least one actor")
      return
    case "scope":
      if (requirement.scope === "") throw new Error("an empty scope")
      return
    case "role":
      if (requirement.role === "") throw new Error("an empty role")
      return
    case "action":
      if (requirement.action === "") throw new Error("an empty action")
      return
    default:
      unknownCheck(requirement)
  }
}

function checkSource(from: Source, field: string, readable: Readable): void {
  if (readable[from]?.(field) !== true) throw new Error(`${from} has no field "${field}" here`)
}

function unknownCheck(check: never): never {
  throw new Error(`an unknown check: ${JSON.stringify(check)}`)
}
