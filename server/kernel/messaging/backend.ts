// Limits what an external messaging backend may request from the auth service.
import type { AuditEvent, AuditKind } from "../audit/event.ts"
import type { AppId, TenantId } from "../ids.ts"
import type { MembershipOp } from "./membership.ts"
import type { Place } from "./records.ts"

/** The scope of a backend, from its token. */
export interface Backend {
  readonly appId: AppId
  readonly tenantId: TenantId | null
  /** True if its app is the installation's own. */
  readonly isInstallation: boolean
}

/** True if the backend serves the place: its own app and tenant. The installation's backend serves every place. */
export function serves(backend: Backend, place: Place): boolean {
  if (backend.tenantId !== null) return backend.appId === place.appId && backend.tenantId === place.tenantId
  return backend.isInstallation || backend.appId === place.appId
}

/** Audit events that a messaging backend may report. */
export const backendKinds: ReadonlySet<AuditKind> = new Set<AuditKind>([
  "device.registered",
  "device.bound",
  "device.renewed",
  "device.revoked",
  "key_package.claimed",
  "user.blocked",
  "user.unblocked",
  "conversation.created",
  "conversation.quarantined",
  "conversation.recovered",
  "conversation.resubmitted",
  "conversation.closed",
  "conversation.fork_reported",
  "membership_proof.issued",
  "directive.issued",
  "directive.done",
  "welcome.consumed",
  "attachment.completed",
  "attachment.deleted",
  "archive.created",
  "archive.granted",
  "archive.completed",
  "archive.deleted",
  "push_endpoint.set",
  "push_endpoint.deleted",
  "messaging_place.changed",
  "authz.denied",
  "audit.counted",
])

/** True for a route that a backend's event may name: one of its methods, or none if no call caused the event. */
const isRoute = (route: string): boolean => route === "" || /^signet\.(messaging|transfer)\./.test(route)

/** Maximum clock difference of a backend, in milliseconds. */
export const backendSkewMs = 120_000
/** Maximum age of an event that a backend reports, in milliseconds. */
export const oldestEventMs = 31 * 86_400_000

/** Returns the field because of which a backend's event is rejected; undefined if it is accepted. */
export function eventProblem(
  backend: Backend,
  event: Pick<AuditEvent, "kind" | "appId" | "tenantId" | "occurredAtMs"> & { readonly route: string },
  nowMs: number,
): "kind" | "route" | "app_id" | "occurred_at" | undefined {
  const { kind, route, appId, tenantId, occurredAtMs } = event
  if (!backendKinds.has(kind)) return "kind"
  // A denial must name the method that was denied.
  if (!isRoute(route) || (kind === "authz.denied" && route === "")) return "route"
  if (appId === null ? tenantId !== null : !serves(backend, { appId, tenantId })) return "app_id"
  const isTimely = nowMs - oldestEventMs <= occurredAtMs && occurredAtMs <= nowMs + backendSkewMs
  return isTimely ? undefined : "occurred_at"
}

/**
 * True if a proof of this kind may be issued with, or without, a requester. Any member may commit a proof without a
 * requester, so only a directive gets one: a revocation, a user who leaves, or one rejoining device.
 */
export function mayProve(op: MembershipOp, hasRequester: boolean, added: number): boolean {
  switch (op) {
    case "CREATE":
    case "ADD":
    case "RESET":
      return hasRequester
    case "REMOVE":
      return added === 0
    case "LEAVE":
      return !hasRequester && added === 0
    case "REJOIN":
      return !hasRequester && added <= 1
  }
}
