import type { AuditEvent } from "@signet/kernel/audit/event"
import type { DeviceId, PrincipalId, SessionId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"

/** Thrown by an effect that a receiver rejected permanently. Every other error is retried. */
export class PermanentlyRefused extends Error {}

/**
 * The effects of an object's writes on other services: delivered from its outbox at least once, so each is idempotent.
 */
export interface Effects {
  /** Binds the session to the device, and ends all other sessions that are bound to a revoked device. */
  changeSessions(of: {
    /** The user's signed device list that proves the change: a SignedBytesV1. */
    readonly list: Uint8Array
    readonly bind: { readonly sessionId: SessionId; readonly deviceId: DeviceId } | null
    readonly revoked: readonly DeviceId[]
    readonly nowMs: number
  }): Promise<void>
  /** Appends the events, each id once. */
  audit(events: readonly AuditEvent[]): Promise<void>
  /** The users who were permanently removed from the place. A suspended user is not included. */
  goneUsers(ids: readonly PrincipalId[], place: Place): Promise<readonly PrincipalId[]>
}
