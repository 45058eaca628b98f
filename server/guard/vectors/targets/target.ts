import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Guard } from "../../guard.ts"
import type { FindResource } from "../../request-values.ts"

export interface World {
  readonly guard: Guard
  readonly requirement: Requirement
  readonly findResource: FindResource
}

/** A call as a vector has it. */
export interface Call {
  readonly authorization: string | null
  /** The same credential where it comes with a message; empty for none. */
  readonly contextToken: string
  /** What such a message carries: all that the credential has. */
  readonly scopes: readonly string[]
  readonly request: Readonly<Record<string, string>>
}

/** What came of it; `ran` is whether what is guarded did. */
export type Outcome =
  | { readonly allow: true; readonly caller: string | null }
  | {
      readonly allow: false
      readonly reason: string
      readonly status: number
      readonly message: string
      readonly metadata: Readonly<Record<string, string>>
      /** Undefined where the target has no headers. */
      readonly challenge?: string | null
    }

/** Builds the target for a requirement, and gives what calls it. */
export type Target = (world: World) => (call: Call) => Promise<Outcome>

/** The request as JSON: a name with dots is a message in a message. */
export function jsonOf(request: Readonly<Record<string, string>>): Record<string, unknown> {
  const json: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(request)) {
    const [first = "", second] = path.split(".")
    json[first] = second === undefined ? value : { [second]: value }
  }
  return json
}

/** Whether the requirement reads the path. */
export function readsPath(requirement: Requirement): boolean {
  return JSON.stringify(requirement).includes('"PATH"')
}

/** The outcome that a problem (RFC 9457) tells. */
export function outcomeOf(problem: unknown): Extract<Outcome, { allow: false }> {
  const { reason, status, detail, metadata } = JSON.parse(JSON.stringify(problem))
  return { allow: false, reason, status, message: detail, metadata }
}
