// What a messaging backend that runs elsewhere may ask of the auth service.
import type { AuditEvent, AuditKind } from "../audit/event.ts"
import type { AppId, TenantId } from "../ids.ts"
import type { MembershipOp } from "./membership.ts"
import type { Place } from "./records.ts"

/** Whose backend it is, by its own token. */
export interface Backend {
  readonly appId: AppId
  readonly tenantId: TenantId | null
  /** Its app is the installation's own. */
  readonly isInstallation: boolean
}

/** Whether the backend serves a place: its own app and tenant; the installation's serves all. */
export function serves(backend: Backend, place: Place): boolean {
  if (backend.tenantId !== null) return backend.appId === place.appId && backend.tenantId === place.tenantId
  return backend.isInstallation || backend.appId === place.appId
}

/** Events that a messaging backend makes: it says none of another kind. */
export const backendKinds: ReadonlySet<AuditKind> = new Set<AuditKind>([
  "device.registered",
  "device.bound",
  "device.renewed",
  "device.revoked",
  "key_package.claimed",
  "conversation.created",
  "conversation.quarantined",
  "conversation.recovered",
  "conversation.closed",
  "conversation.fork_reported",
  "membership_proof.issued",
  "directive.issued",
  "directive.done",
  "welcome.consumed",
  "attachment.completed",
  "attachment.deleted",
  "messaging_place.changed",
  "authz.denied",
  "audit.counted",
])

/** What an event of a backend may name as its route: its own methods, or none where no call did it. */
const isRoute = (route: string): boolean => route === "" || /^signet\.(messaging|transfer)\./.test(route)

/** How far a backend's clock may be off, in milliseconds. */
export const backendSkewMs = 120_000
/** An event that was not taken for longer is not taken any more. */
export const oldestEventMs = 31 * 86_400_000

/** Why an event of a backend is not taken; undefined when it is. */
export function eventProblem(
  backend: Backend,
  event: Pick<AuditEvent, "kind" | "appId" | "tenantId" | "occurredAtMs"> & { readonly route: string },
  nowMs: number,
): "kind" | "route" | "app_id" | "occurred_at" | undefined {
  const { kind, route, appId, tenantId, occurredAtMs } = event
  if (!backendKinds.has(kind)) return "kind"
  // A denial says by its route whose it was.
  if (!isRoute(route) || (kind === "authz.denied" && route === "")) return "route"
  if (appId === null ? tenantId !== null : !serves(backend, { appId, tenantId })) return "app_id"
  const isTimely = nowMs - oldestEventMs <= occurredAtMs && occurredAtMs <= nowMs + backendSkewMs
  return isTimely ? undefined : "occurred_at"
}

/**
 * Whether a proof with, or without, a requester may be of this kind. Without one any member may commit it, so it is a
 * directive's: a revocation, somebody who leaves, or one device that comes again.
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
