import type { PrincipalKind } from "../records.ts"

/** Where a request names a resource or a tenant. */
export type Source = "PATH" | "BODY" | "HEADER" | "TOKEN" | "GRAPH"

export interface Freshness {
  readonly maxStalenessMs: number
  readonly onStale: "DENY" | "INTROSPECT" | "ALLOW"
}

/** Options that any requirement may carry beside its check. */
interface Options {
  readonly freshness?: Freshness
  readonly maxAuthAgeSeconds?: number
  readonly allowDelegated?: boolean
}

/** At least one: an empty composite that allows is the oldest bug there is. */
export type Requirements = readonly [Requirement, ...Requirement[]]

/** What a capability asks of its caller. The contract is proto/signet/authz/v1/requirement.proto. */
export type Requirement = Options &
  (
    | { readonly is: "public" }
    | { readonly is: "bodyCredential" }
    | { readonly is: "scope"; readonly scope: string }
    | { readonly is: "action"; readonly action: string }
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
    | { readonly is: "anyOf"; readonly of: Requirements }
    | { readonly is: "allOf"; readonly of: Requirements }
  )
