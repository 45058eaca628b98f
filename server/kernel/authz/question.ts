// What a decision is asked: the caller, the requirement, the request, and what is known of them.
import type { Reason } from "../errors.ts"
import type { AppId } from "../ids.ts"
import type { AuthContext } from "./context.ts"
import type { PermissionSnapshot } from "./effective.ts"
import type { ResourceRef } from "./grants.ts"
import type { Liveness } from "./liveness.ts"
import type { Freshness, Requirement } from "./requirement.ts"

/** What the request says and what the target found for it. */
export interface RequestFacts {
  /** The app that the route belongs to; undefined where it serves every app. */
  readonly appId?: AppId
  /** The tenants that the request names, by tenantKey. */
  readonly tenants?: ReadonlyMap<string, string>
  /** The resources that the request names, as the target found them, by resourceKey; what is missing was not found. */
  readonly resources?: ReadonlyMap<string, ResourceRef>
  /** The job that the call is a part of, where the target knows it. */
  readonly jobId?: string
}

export interface Question {
  /** Who calls, or why that is not known. */
  readonly context: AuthContext | Reason
  readonly requirement: Requirement
  readonly expected: { readonly issuer: string; readonly audience: string }
  readonly request: RequestFacts
  /** "unknown": nothing is known but that the token was issued, so what is known is as old as the token. */
  readonly liveness: Liveness | "unknown"
  /** Holds where the requirement says nothing. */
  readonly defaultFreshness: Freshness
  /** What the principal was granted; null where nobody asked, and then no permission is held. */
  readonly snapshot: PermissionSnapshot | null
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number
}

/** A call whose caller is known. */
export interface KnownCall extends Question {
  readonly context: AuthContext
}
