import type { ConversationId, PrincipalId } from "../ids.ts"

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
