// Hints that wake streams up, what a stream subscribes to, and the port that delivers hints.
import type { ConversationId, DeviceId, DirectiveId, PrincipalId, WelcomeId } from "../ids.ts"

/** A notification for streams. It is never authoritative: the receiver reads the store. */
export type Hint =
  | { readonly is: "envelopes"; readonly conversationId: ConversationId; readonly headSeq: bigint }
  | {
      readonly is: "welcome"
      readonly deviceId: DeviceId
      readonly welcomeId: WelcomeId
      readonly conversationId: ConversationId
    }
  | { readonly is: "keyPackageLow"; readonly deviceId: DeviceId }
  /** The device's user has blocked or unblocked a user. */
  | { readonly is: "blockList"; readonly deviceId: DeviceId; readonly version: bigint }
  | { readonly is: "deviceList"; readonly userId: PrincipalId; readonly version: bigint }
  | { readonly is: "directive"; readonly conversationId: ConversationId; readonly directiveId: DirectiveId }
  /** The device joined or left the conversation; without an id, any conversation. */
  | { readonly is: "member"; readonly deviceId: DeviceId; readonly conversationId?: ConversationId }
  /** The device was revoked: its streams end. */
  | { readonly is: "revoked"; readonly deviceId: DeviceId }

/** The subscription of one stream. */
export interface Interest {
  readonly deviceId: DeviceId
  readonly userIds: readonly PrincipalId[]
  /** Each with the newest sequence number that the stream has sent. */
  readonly conversations: ReadonlyMap<ConversationId, bigint>
  /**
   * Time before the subscribed data was read, in milliseconds since the Unix epoch. Later changes may be missing from
   * it.
   */
  readonly asOfMs?: number
}

/** Wakes streams in this and other processes. It may lose hints temporarily and recovers them by itself. */
export interface Wakeups {
  /** Call it after the commit, outside a transaction. It neither waits nor throws. */
  publish(hints: readonly Hint[]): void
  /** The listener must return at once. `update` replaces the interest. */
  subscribe(interest: Interest, listener: (hint: Hint) => void): { update(interest: Interest): void; close(): void }
}

/** Hints derived from the store, to recover lost ones. */
export interface MissedHints {
  /** Conversations whose head is after the known sequence number. */
  heads(
    known: ReadonlyMap<ConversationId, bigint>,
  ): Promise<readonly { conversationId: ConversationId; headSeq: bigint }[]>
  /** All hints but envelopes. `mark` changes whenever the subject of the hint changes. */
  rest(of: {
    deviceIds: readonly DeviceId[]
    userIds: readonly PrincipalId[]
    conversationIds: readonly ConversationId[]
  }): Promise<readonly { hint: Hint; mark: string }[]>
}
