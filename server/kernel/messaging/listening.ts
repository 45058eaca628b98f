import type { ConversationId, DeviceId, PrincipalId } from "../ids.ts"
import type { Envelope } from "./records.ts"

/** A conversation's head and member users, each once: a subscriber follows their device lists. None before the first commit. */
export interface MemberUsers {
  readonly conversationId: ConversationId
  readonly headSeq: bigint
  readonly userIds: readonly PrincipalId[]
  /**
   * The device's progress, if the store returns it with the same query. Hints for later changes reach listeners from
   * `Interest.asOfMs` and its sequence numbers on.
   */
  readonly progress?: LogProgress
}

/** The head of a log, and how far a device has processed it. */
export interface LogProgress {
  readonly conversationId: ConversationId
  readonly headSeq: bigint
  readonly processedSeq: bigint
  readonly hasDirectives: boolean
}

/** The commits that added and removed a device's leaf, by their sequence numbers. */
export interface MembershipSpan {
  readonly fromSeq: bigint
  /** Null while the device is a member. */
  readonly toSeq: bigint | null
}

/** `Conversations.membershipSpan` of several devices, in their order. */
export type FindSpans = (
  id: ConversationId,
  of: readonly { readonly deviceId: DeviceId; readonly afterSeq: bigint }[],
) => Promise<readonly (MembershipSpan | undefined)[]>

/** The envelopes after a sequence number that a device may read, as many as a hint includes. @throws Refused LOG_PRUNED */
export type ReadTail = (id: ConversationId, deviceId: DeviceId, afterSeq: bigint) => Promise<readonly Envelope[]>
