// What the Worker and the object of a device say to each other on the socket of a stream.
import type { ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"

/** Asks for news, and to be told from now on. Of nobody: whether anybody is there. */
export interface StreamAsk {
  readonly number: number
  readonly deviceId: DeviceId
  readonly conversations: readonly Listening[]
  readonly userIds: readonly { readonly id: PrincipalId; readonly sinceMs: number }[]
}

export interface Listening {
  readonly id: ConversationId
  /** The newest place that the stream was told of. */
  readonly seq: bigint
  /** Directives that were issued before this are no news. Milliseconds since the Unix epoch. */
  readonly sinceMs: number
}

/** What an object answers that is asked to tell: what is news to the device. */
export interface ConversationAsk {
  readonly deviceId: DeviceId
  /** The name of its user's object. */
  readonly user: string
  readonly seq: bigint
  readonly sinceMs: number
}

export interface UserAsk {
  readonly deviceId: DeviceId
  readonly sinceMs: number
}

/** Hints; and, of an answer, which question it answers, and who did not answer. */
export interface Told {
  readonly asked: number | null
  readonly hints: readonly Hint[]
  readonly unheard: readonly string[]
  /** Write something: whose reader has gone is to give its place. */
  readonly beat?: true
}
