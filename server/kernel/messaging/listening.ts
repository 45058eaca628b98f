import type { ConversationId, PrincipalId } from "../ids.ts"

/** Whose device lists matter to a conversation: its members', each once; nobody's before its first commit. */
export interface Audience {
  readonly conversationId: ConversationId
  readonly headSeq: bigint
  readonly userIds: readonly PrincipalId[]
  /**
   * The device's, where a store tells it with the same question. What comes after it is told to who listens from
   * `Interest.asOfMs` and its places on.
   */
  readonly standing?: Standing
}

/** How far a log is, and how far a device has processed it. */
export interface Standing {
  readonly conversationId: ConversationId
  readonly headSeq: bigint
  readonly processedSeq: bigint
  readonly hasDirectives: boolean
}
