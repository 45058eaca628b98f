// The facts that decided a denied call, as its audit event records them. Without them, an event could be explained only by
// the requirement and the token of a later moment.
import type { AuthContext } from "../authz/context.ts"
import { describe, type Requirement } from "../authz/requirement.ts"
import type { PrincipalKind } from "../records.ts"

/**
 * Facts of the method and of the caller's token, as of the denial. None is of an object that the call names, because
 * that object can be in a place that the readers of the event do not see.
 */
export interface Denial {
  /** The requirement of the method, in one line. */
  readonly requirement: string
  readonly callerKind: PrincipalKind
  /** Audience of the token. */
  readonly audience: string
  /** The scope, role or permission that the caller lacked; empty for another reason. */
  readonly missing: string
  /** When the user authenticated; null if the token does not state it. */
  readonly authTimeMs: number | null
}

/** Maximum length of each text, as in the contract. */
const maxLength = 512

/** @param metadata Metadata of the denial, which names what the caller lacked. */
export function buildDenial(
  requirement: Requirement,
  { principal, audience, authTimeMs }: Pick<AuthContext, "principal" | "audience" | "authTimeMs">,
  metadata: Readonly<Record<string, string>> = {},
): Denial {
  return {
    requirement: describe(requirement).slice(0, maxLength),
    callerKind: principal.kind,
    audience: audience.slice(0, maxLength),
    missing: (metadata.scope ?? metadata.role ?? metadata.permission ?? "").slice(0, maxLength),
    authTimeMs,
  }
}
