// Reads the values that a requirement names; shared by all targets.
import type { ResourceRef } from "@signet/kernel/authz/grants"
import { checksIn, type Requirement, resourceKey, type Source, tenantKey } from "@signet/kernel/authz/requirement"
import type { CallFacts } from "./guard.ts"

/** Finds a resource in the store of the service that owns it; undefined if it does not exist. */
export type FindResource = (type: string, id: string) => Promise<ResourceRef | undefined>

/** Returns the string at a source; undefined if there is none or more than one. */
export type ReadValue = (from: Source, field: string) => string | undefined

export interface TargetFacts {
  /** Finds the resources that requirements name. Without it every call that names a resource is refused. */
  readonly findResource?: FindResource
}

/** Compiled once, so that a call reads only the values that its requirement names. */
export function factsReader(
  requirement: Requirement,
  { findResource }: TargetFacts,
): (read: ReadValue) => Promise<CallFacts> {
  const checks = checksIn(requirement)
  const tenants = checks.filter((check) => check.is === "tenant")
  const resources = checks.filter((check) => check.is === "resourceAction")
  if (tenants.length === 0 && resources.length === 0) return async () => ({})

  return async (read) => {
    const named = new Map<string, string>()
    for (const check of tenants) {
      const id = read(check.from, check.field)
      if (id !== undefined) named.set(tenantKey(check), id)
    }
    const found = new Map<string, ResourceRef>()
    for (const check of resources) {
      const id = read(check.from, check.field)
      const resource = id === undefined ? undefined : await findResource?.(check.type, id)
      if (resource !== undefined) found.set(resourceKey(check), resource)
    }
    return { tenants: named, resources: found }
  }
}
