// The subscriptions of this process, by the ids that they follow.
import type { ConversationId } from "@signet/kernel/ids"
import type { Hint, Interest, MissedHints } from "@signet/kernel/messaging/wakeups"

interface Subscription {
  readonly listener: (hint: Hint) => void
  interest: Interest
  /** The newest sequence number that the stream has reported, by conversation. */
  sentSeqs: Map<ConversationId, bigint>
}

type Followed = Parameters<MissedHints["rest"]>[0]

export interface Hub {
  add(interest: Interest, listener: (hint: Hint) => void): Subscription
  update(subscription: Subscription, interest: Interest): void
  remove(subscription: Subscription): void
  deliver(hint: Hint): void
  /** For each followed conversation, the lowest of its subscribers' `sentSeqs`. The same object until one of them changes. */
  heads(): ReadonlyMap<ConversationId, bigint>
  /** The ids that the subscriptions follow, each once. The same object until a subscription changes. */
  followed(): Followed
  readonly subscriptions: ReadonlySet<Subscription>
}

/** @param onError Called with the error of a listener that threw. The other listeners still get the hint. */
export function createHub(onError: (error: unknown) => void): Hub {
  const subscriptions = new Set<Subscription>()
  const byKey = new Map<string, Set<Subscription>>()
  // The poll asks for both all the time, and most streams are idle.
  let heads: ReadonlyMap<ConversationId, bigint> | undefined
  let followed: Followed | undefined
  const change = () => {
    heads = undefined
    followed = undefined
  }

  const enter = (subscription: Subscription) => {
    for (const key of keysOf(subscription.interest)) {
      const there = byKey.get(key) ?? new Set()
      byKey.set(key, there.add(subscription))
    }
    subscriptions.add(subscription)
    change()
  }
  const leave = (subscription: Subscription) => {
    for (const key of keysOf(subscription.interest)) {
      const there = byKey.get(key)
      there?.delete(subscription)
      if (there?.size === 0) byKey.delete(key)
    }
    subscriptions.delete(subscription)
    change()
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
      subscription.sentSeqs = highest(subscription.sentSeqs, interest.conversations)
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
          heads = undefined
        }
        try {
          subscription.listener(hint)
        } catch (error) {
          onError(error)
        }
      }
    },

    heads() {
      heads ??= lowestOf(subscriptions)
      return heads
    },

    followed() {
      followed ??= followedBy(subscriptions)
      return followed
    },
  }
}

/** The numbers of these conversations, or the ones before if they are higher. */
const highest = (before: ReadonlyMap<ConversationId, bigint>, now: ReadonlyMap<ConversationId, bigint>) =>
  new Map(
    Array.from(now, ([id, seq]) => {
      const known = before.get(id) ?? 0n
      return [id, known > seq ? known : seq]
    }),
  )

function lowestOf(subscriptions: ReadonlySet<Subscription>): ReadonlyMap<ConversationId, bigint> {
  const lowest = new Map<ConversationId, bigint>()
  for (const { sentSeqs } of subscriptions) {
    for (const [id, seq] of sentSeqs) {
      const other = lowest.get(id)
      if (other === undefined || seq < other) lowest.set(id, seq)
    }
  }
  return lowest
}

function followedBy(subscriptions: ReadonlySet<Subscription>): Followed {
  const interests = [...subscriptions].map(({ interest }) => interest)
  return {
    deviceIds: [...new Set(interests.map(({ deviceId }) => deviceId))],
    userIds: [...new Set(interests.flatMap(({ userIds }) => userIds))],
    conversationIds: [...new Set(interests.flatMap(({ conversations }) => [...conversations.keys()]))],
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
