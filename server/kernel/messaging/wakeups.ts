// How streams are told that something is new: hints, what a stream listens to, and who wakes it.
import type { ConversationId, DeviceId, DirectiveId, PrincipalId, WelcomeId } from "../ids.ts"

/** Something that a stream tells. Never the truth: whoever gets it reads. */
export type Hint =
  | { readonly is: "envelopes"; readonly conversationId: ConversationId; readonly headSeq: bigint }
  | {
      readonly is: "welcome"
      readonly deviceId: DeviceId
      readonly welcomeId: WelcomeId
      readonly conversationId: ConversationId
    }
  | { readonly is: "keyPackageLow"; readonly deviceId: DeviceId }
  | { readonly is: "deviceList"; readonly userId: PrincipalId; readonly version: bigint }
  | { readonly is: "directive"; readonly conversationId: ConversationId; readonly directiveId: DirectiveId }
  /** The device came into the conversation or went out of it; without one, into or out of whichever. */
  | { readonly is: "member"; readonly deviceId: DeviceId; readonly conversationId?: ConversationId }
  /** The device was revoked: its streams end. */
  | { readonly is: "revoked"; readonly deviceId: DeviceId }

/** What one stream listens to. */
export interface Interest {
  readonly deviceId: DeviceId
  readonly userIds: readonly PrincipalId[]
  /** With the newest place that the stream was told of. */
  readonly conversations: ReadonlyMap<ConversationId, bigint>
  /** Before what is new in it was read, in milliseconds since the Unix epoch: what happened since may not be known. */
  readonly asOfMs?: number
}

/** Wakes streams up, in this process and in others. May lose hints for a while, and finds the lost ones by itself. */
export interface Wakeups {
  /** After the commit, and outside of any transaction. Does not wait, and does not throw. */
  publish(hints: readonly Hint[]): void
  /** The listener returns at once. `update` replaces the interest. */
  subscribe(interest: Interest, listener: (hint: Hint) => void): { update(interest: Interest): void; close(): void }
}

/** What is to be told now, read from the store: for hints that were lost. */
export interface MissedHints {
  /** Conversations whose log goes on after the place that is known. */
  heads(
    known: ReadonlyMap<ConversationId, bigint>,
  ): Promise<readonly { conversationId: ConversationId; headSeq: bigint }[]>
  /** All but envelopes. The mark is another when what the hint is about has changed. */
  rest(of: {
    deviceIds: readonly DeviceId[]
    userIds: readonly PrincipalId[]
    conversationIds: readonly ConversationId[]
  }): Promise<readonly { hint: Hint; mark: string }[]>
}
