// Store interfaces of the messaging service. A backend is a database, or Durable Objects, which cannot be written in one
// transaction. So every method is atomic by itself and takes no asynchronous callback. An operation that needs two
// methods calls them in an order that can be interrupted and retried.
import type { AuditEvent } from "../audit/event.ts"
import type { DeviceId, PrincipalId, SessionId } from "../ids.ts"
import type { SessionState } from "../session/session.ts"
import type { Attachments } from "./ports/attachments.ts"
import type { Conversations, Welcomes } from "./ports/conversations.ts"
import type { Devices, KeyPackages, ProofNonces } from "./ports/devices.ts"
import type { Archives, Blocks } from "./ports/users.ts"
import type { Place } from "./records.ts"

export type { Attachments, BlobStore } from "./ports/attachments.ts"
export type { AppendAnswer, AppendOutcome, Conversations, SeenConversation, Welcomes } from "./ports/conversations.ts"
export type { DeviceChange, Devices, KeyPackages, ProofNonces } from "./ports/devices.ts"
export type { Archives, Blocks } from "./ports/users.ts"

/**
 * The messaging service's questions to the auth service about users: in process or over RPC.
 *
 * Every method throws Refused UNAVAILABLE if the auth service does not answer.
 */
export interface MessagingAccounts {
  /** The subset of active users with an active membership of the place, in no order. */
  activeUsers(ids: readonly PrincipalId[], place: Place): Promise<readonly PrincipalId[]>
  findSession(id: SessionId): Promise<MessagingSession | undefined>
  /** Resolves once the events are stored. */
  audit(events: readonly AuditEvent[]): Promise<void>
}

export interface MessagingSession {
  /** The current state. */
  readonly state: SessionState
  readonly boundDeviceId: DeviceId | null
}

/**
 * Audit events are appended in the same write as the change, and not if nothing changes. Writes are Refused PLACE_HELD
 * at a place that is not open (moving.ts). Exceptions: `touch` does nothing then, and proof nonces are always stored.
 */
export interface MessagingStore {
  readonly devices: Devices
  readonly keyPackages: KeyPackages
  readonly conversations: Conversations
  readonly welcomes: Welcomes
  readonly attachments: Attachments
  readonly proofNonces: ProofNonces
  readonly blocks: Blocks
  readonly archives: Archives
}
