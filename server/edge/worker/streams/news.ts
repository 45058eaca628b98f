// Drops hints that a stream has received before: they arrive in several ways.
import type { ConversationId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"

export interface News {
  /** True for a new hint, which is then recorded. */
  take(hint: Hint): boolean
  /** Sets the known sequence numbers. Omitted conversations are dropped, and no number decreases. */
  follow(conversations: ReadonlyMap<ConversationId, bigint>): void
  placeOf(id: ConversationId): bigint
}

/** The number of remembered hints that report the existence of an object. */
const mostRemembered = 1_000

export function createNews(): News {
  let places = new Map<ConversationId, bigint>()
  const versions = new Map<string, bigint>()
  const seen = new Set<string>()

  function isFirst(name: string): boolean {
    if (seen.has(name)) return false
    seen.add(name)
    const [oldest] = seen
    if (seen.size > mostRemembered && oldest !== undefined) seen.delete(oldest)
    return true
  }

  return {
    take(hint) {
      switch (hint.is) {
        case "envelopes": {
          if (hint.headSeq <= (places.get(hint.conversationId) ?? 0n)) return false
          places.set(hint.conversationId, hint.headSeq)
          return true
        }
        case "deviceList": {
          if (hint.version <= (versions.get(hint.userId) ?? 0n)) return false
          versions.set(hint.userId, hint.version)
          return true
        }
        case "blockList": {
          if (hint.version <= (versions.get(hint.deviceId) ?? 0n)) return false
          versions.set(hint.deviceId, hint.version)
          return true
        }
        case "welcome":
          return isFirst(hint.welcomeId)
        case "directive":
          return isFirst(hint.directiveId)
        default:
          return true
      }
    },

    follow(conversations) {
      places = new Map(
        Array.from(conversations, ([id, seq]) => {
          const before = places.get(id) ?? 0n
          return [id, before > seq ? before : seq]
        }),
      )
    },

    placeOf: (id) => places.get(id) ?? 0n,
  }
}
