import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Guard } from "../../guard.ts"
import type { FindResource } from "../../request-values.ts"

export interface World {
  readonly guard: Guard
  readonly requirement: Requirement
  readonly findResource: FindResource
}

/** A call of a vector. */
export interface Call {
  readonly authorization: string | null
  /** The same credential for messages; empty for none. */
  readonly contextToken: string
  /** The scopes of such a message: all of the credential's. */
  readonly scopes: readonly string[]
  readonly request: Readonly<Record<string, string>>
}

/** The result of a call; `allow` is whether the guarded code ran. */
export type Outcome =
  | { readonly allow: true; readonly caller: string | null }
  | {
      readonly allow: false
      readonly reason: string
      readonly status: number
      readonly message: string
      readonly metadata: Readonly<Record<string, string>>
      /** Undefined if the target has no headers. */
      readonly challenge?: string | null
    }

/** Builds the target for a requirement and returns a function that calls it. */
export type Target = (world: World) => (call: Call) => Promise<Outcome>

/** The request as JSON. A name with dots becomes a nested message. */
export function jsonOf(request: Readonly<Record<string, string>>): Record<string, unknown> {
  const json: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(request)) {
    const [first = "", second] = path.split(".")
    json[first] = second === undefined ? value : { [second]: value }
  }
  return json
}

/** True if the requirement reads the path. */
export function readsPath(requirement: Requirement): boolean {
  return JSON.stringify(requirement).includes('"PATH"')
}

/** The outcome that a problem document (RFC 9457) describes. */
export function outcomeOf(problem: unknown): Extract<Outcome, { allow: false }> {
  const { reason, status, detail, metadata } = JSON.parse(JSON.stringify(problem))
  return { allow: false, reason, status, message: detail, metadata }
}
