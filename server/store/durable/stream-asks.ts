// The messages between the Worker and a device's object on the socket of a stream.
import type { ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"

/** Requests news, and subscribes. Without subscriptions it only checks the connection. */
export interface StreamAsk {
  readonly number: number
  readonly deviceId: DeviceId
  readonly conversations: readonly Listening[]
  readonly userIds: readonly { readonly id: PrincipalId; readonly sinceMs: number }[]
}

export interface Listening {
  readonly id: ConversationId
  /** The newest sequence number that the stream has reported. */
  readonly seq: bigint
  /** Directives that were issued before this time are known. Milliseconds since the Unix epoch. */
  readonly sinceMs: number
}

/** A device's subscription to a conversation's object, which answers with the hints that the device lacks. */
export interface ConversationAsk {
  readonly deviceId: DeviceId
  /** The name of the device's user object. */
  readonly user: string
  readonly seq: bigint
  readonly sinceMs: number
}

export interface UserAsk {
  readonly deviceId: DeviceId
  readonly sinceMs: number
}

/** Hints. In an answer, also the number of the request, and the objects that did not answer. */
export interface StreamMessage {
  readonly asked: number | null
  readonly hints: readonly Hint[]
  readonly unheard: readonly string[]
  /** Requests a heartbeat, so that a stream whose reader has gone is closed. */
  readonly beat?: true
}
