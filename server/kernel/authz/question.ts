// The inputs of an authorization decision: the caller, the requirement, the request, and the known facts.
import type { Reason } from "../errors.ts"
import type { AppId } from "../ids.ts"
import type { AuthContext } from "./context.ts"
import type { PermissionSnapshot } from "./effective.ts"
import type { ResourceRef } from "./grants.ts"
import type { Liveness } from "./liveness.ts"
import type { Freshness, Requirement } from "./requirement.ts"

/** Facts of the request, and what the target service resolved for it. */
export interface RequestFacts {
  /** The app that the route belongs to; undefined if the route serves every app. */
  readonly appId?: AppId
  /** Tenants that the request names, by tenantKey. */
  readonly tenants?: ReadonlyMap<string, string>
  /** Resources that the request names, by resourceKey, as the target resolved them. A missing one was not found. */
  readonly resources?: ReadonlyMap<string, ResourceRef>
  /** The job that the call belongs to, if the target knows it. */
  readonly jobId?: string
}

export interface Question {
  /** The caller, or why the token was rejected. */
  readonly context: AuthContext | Reason
  readonly requirement: Requirement
  readonly expected: { readonly issuer: string; readonly audience: string }
  readonly request: RequestFacts
  /** "unknown": only the token itself is known, so the facts are as old as the token. */
  readonly liveness: Liveness | "unknown"
  /** Applies if the requirement states none. */
  readonly defaultFreshness: Freshness
  /** The principal's permissions. Null if none were loaded: permission requirements then fail. */
  readonly snapshot: PermissionSnapshot | null
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number
}

/** A call whose caller is known. */
export interface KnownCall extends Question {
  readonly context: AuthContext
}
