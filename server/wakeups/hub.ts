// The subscriptions of this process, by the ids that they follow.
import type { ConversationId } from "@signet/kernel/ids"
import type { Hint, Interest } from "@signet/kernel/messaging/wakeups"

interface Subscription {
  readonly listener: (hint: Hint) => void
  interest: Interest
  /** The newest sequence number that the stream has reported, by conversation. */
  sentSeqs: Map<ConversationId, bigint>
}

export interface Hub {
  add(interest: Interest, listener: (hint: Hint) => void): Subscription
  update(subscription: Subscription, interest: Interest): void
  remove(subscription: Subscription): void
  deliver(hint: Hint): void
  /** For each followed conversation, the lowest of its subscribers' `sentSeqs`. */
  heads(): ReadonlyMap<ConversationId, bigint>
  readonly subscriptions: ReadonlySet<Subscription>
}

/** @param onError Called with the error of a listener that threw. The other listeners still get the hint. */
export function createHub(onError: (error: unknown) => void): Hub {
  const subscriptions = new Set<Subscription>()
  const byKey = new Map<string, Set<Subscription>>()

  const enter = (subscription: Subscription) => {
    for (const key of keysOf(subscription.interest)) {
      const there = byKey.get(key) ?? new Set()
      byKey.set(key, there.add(subscription))
    }
    subscriptions.add(subscription)
  }
  const leave = (subscription: Subscription) => {
    for (const key of keysOf(subscription.interest)) {
      const there = byKey.get(key)
      there?.delete(subscription)
      if (there?.size === 0) byKey.delete(key)
    }
    subscriptions.delete(subscription)
  }

  return {
    subscriptions,

    add(interest, listener) {
      const subscription = { interest, listener, sentSeqs: new Map(interest.conversations) }
      enter(subscription)
      return subscription
    },

    update(subscription, interest) {
      if (!subscriptions.has(subscription)) return
      leave(subscription)
      const { sentSeqs } = subscription
      subscription.sentSeqs = new Map(
        Array.from(interest.conversations, ([id, seq]) => {
          const before = sentSeqs.get(id) ?? 0n
          return [id, before > seq ? before : seq]
        }),
      )
      subscription.interest = interest
      enter(subscription)
    },

    remove: leave,

    deliver(hint) {
      // A copy: a listener may change its interest.
      for (const subscription of [...(byKey.get(keyOf(hint)) ?? [])]) {
        if (hint.is === "envelopes") {
          if (hint.headSeq <= (subscription.sentSeqs.get(hint.conversationId) ?? 0n)) continue
          subscription.sentSeqs.set(hint.conversationId, hint.headSeq)
        }
        try {
          subscription.listener(hint)
        } catch (error) {
          onError(error)
        }
      }
    },

    heads() {
      const heads = new Map<ConversationId, bigint>()
      for (const { sentSeqs } of subscriptions) {
        for (const [id, seq] of sentSeqs) {
          const other = heads.get(id)
          if (other === undefined || seq < other) heads.set(id, seq)
        }
      }
      return heads
    },
  }
}

/** The id that a hint is about. Ids have typed prefixes, so ids of different kinds never collide. */
function keyOf(hint: Hint): string {
  switch (hint.is) {
    case "envelopes":
    case "directive":
      return hint.conversationId
    case "deviceList":
      return hint.userId
    case "welcome":
    case "keyPackageLow":
    case "blockList":
    case "member":
    case "revoked":
      return hint.deviceId
  }
}

const keysOf = ({ deviceId, userIds, conversations }: Interest): readonly string[] => [
  deviceId,
  ...userIds,
  ...conversations.keys(),
]
