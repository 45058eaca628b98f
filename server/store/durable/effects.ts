import type { AuditEvent } from "@signet/kernel/audit/event"
import type { DeviceId, PrincipalId, SessionId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"

/** Thrown by an effect that was heard, and will not be taken however often it is said. Whatever else is thrown is tried again. */
export class RefusedForGood extends Error {}

/** What an object has others do after its own write: at least once, from its outbox, so that again is no error. */
export interface Effects {
  /** Binds the session to the device, and ends every other session that is bound to one of the revoked. */
  changeSessions(of: {
    /** The user's signed list that says so: a SignedBytesV1. */
    readonly list: Uint8Array
    readonly bind: { readonly sessionId: SessionId; readonly deviceId: DeviceId } | null
    readonly revoked: readonly DeviceId[]
    readonly nowMs: number
  }): Promise<void>
  /** Keeps the events, each by its id. */
  audit(events: readonly AuditEvent[]): Promise<void>
  /** Those of them who are gone from the place for good. Who is suspended is not. */
  goneUsers(ids: readonly PrincipalId[], place: Place): Promise<readonly PrincipalId[]>
}
