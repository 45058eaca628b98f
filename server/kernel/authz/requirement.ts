import type { PrincipalKind } from "../records.ts"

/** Where a request names a resource or a tenant. */
export type Source = "PATH" | "BODY" | "HEADER" | "TOKEN" | "GRAPH"

export interface Freshness {
  readonly maxStalenessMs: number
  readonly onStale: "DENY" | "INTROSPECT" | "ALLOW"
}

/** Options of a requirement. On a composite they apply to all of its parts. */
interface Options {
  readonly freshness?: Freshness
  readonly maxAuthAgeSeconds?: number
  readonly allowDelegated?: boolean
}

/** At least one: an empty composite would allow everything. */
export type Requirements = readonly [Requirement, ...Requirement[]]

/** What a method requires of its caller. The contract is proto/signet/authz/v1/requirement.proto. */
export type Requirement = Options &
  (
    | { readonly is: "public" }
    | { readonly is: "bodyCredential" }
    | { readonly is: "scope"; readonly scope: string }
    | { readonly is: "action"; readonly action: string }
    | { readonly is: "role"; readonly role: string }
    | {
        readonly is: "resourceAction"
        readonly action: string
        readonly type: string
        readonly from: Source
        readonly field: string
      }
    | { readonly is: "kinds"; readonly of: readonly [PrincipalKind, ...PrincipalKind[]] }
    | { readonly is: "tenant"; readonly from: Source; readonly field: string }
    | { readonly is: "delegated"; readonly actors: readonly [string, ...string[]] }
    | { readonly is: "device"; readonly proof: boolean }
    | { readonly is: "anyOf"; readonly of: Requirements }
    | { readonly is: "allOf"; readonly of: Requirements }
  )

type TenantCheck = Extract<Requirement, { is: "tenant" }>
type ResourceCheck = Extract<Requirement, { is: "resourceAction" }>

/** The key of a tenant in RequestFacts.tenants. */
export function tenantKey(check: TenantCheck): string {
  return `${check.from} ${check.field}`
}

/** The key of a resource in RequestFacts.resources. */
export function resourceKey(check: ResourceCheck): string {
  return `${check.type} ${check.from} ${check.field}`
}

/** Every check in a requirement, in order of declaration. */
export function checksIn(requirement: Requirement): readonly Requirement[] {
  return requirement.is === "anyOf" || requirement.is === "allOf" ? requirement.of.flatMap(checksIn) : [requirement]
}

/** One-line form for documents and logs: `kinds(USER) and (scope(a) or scope(b))`. */
export function describe(requirement: Requirement): string {
  return [describeCheck(requirement), ...describeOptions(requirement)].join(", ")
}

/** Describes the options of a requirement, one phrase each. */
export function describeOptions(requirement: Requirement): readonly string[] {
  return [
    requirement.freshness && `fresh(${requirement.freshness.maxStalenessMs} ms, ${requirement.freshness.onStale})`,
    requirement.maxAuthAgeSeconds ? `signed in within ${requirement.maxAuthAgeSeconds} s` : undefined,
    requirement.allowDelegated ? "or on behalf" : undefined,
  ].filter((option) => option !== undefined)
}

function describeCheck(check: Requirement): string {
  switch (check.is) {
    case "public":
      return "public"
    case "bodyCredential":
      return "credential in the body"
    case "scope":
      return `scope(${check.scope})`
    case "action":
      return `action(${check.action})`
    case "role":
      return `role(${check.role})`
    case "resourceAction":
      return `action(${check.action} on ${check.type} from ${check.from} ${check.field})`
    case "kinds":
      return `kinds(${check.of.join(" or ")})`
    case "tenant":
      return check.from === "TOKEN" ? "tenant(TOKEN)" : `tenant(${check.from} ${check.field})`
    case "delegated":
      return `on behalf by(${check.actors.join(" or ")})`
    case "device":
      return check.proof ? "device(proven)" : "device"
    case "anyOf":
      return check.of.map(describePart).join(" or ")
    case "allOf":
      return check.of.map(describePart).join(" and ")
  }
}

function describePart(requirement: Requirement): string {
  const text = describe(requirement)
  return requirement.is === "anyOf" || requirement.is === "allOf" || text.includes(", ") ? `(${text})` : text
}
