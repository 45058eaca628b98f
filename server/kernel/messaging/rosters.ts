// Rosters that were read lately. Whatever changes one takes an epoch, so that a conversation and an epoch name one for
// good: of a large group it is read once an epoch, and not with each message.
import type { ConversationId } from "../ids.ts"
import type { Leaf } from "./records.ts"

export interface KnownRoster {
  readonly epoch: number
  readonly roster: readonly Leaf[]
}

export interface Rosters {
  get(id: ConversationId): KnownRoster | undefined
  put(id: ConversationId, known: KnownRoster): void
}

/** @param mostLeaves Of all of them together; those that were used longest ago go first. */
export function createRosters(mostLeaves = 50_000): Rosters {
  const byId = new Map<ConversationId, KnownRoster>()
  let leaves = 0
  const remove = (id: ConversationId) => {
    leaves -= byId.get(id)?.roster.length ?? 0
    byId.delete(id)
  }
  return {
    get(id) {
      const known = byId.get(id)
      if (known === undefined) return undefined
      byId.delete(id)
      byId.set(id, known)
      return known
    },

    put(id, known) {
      // Two reads may end in another order than they began.
      if ((byId.get(id)?.epoch ?? -1) > known.epoch || known.roster.length > mostLeaves) return
      remove(id)
      byId.set(id, known)
      leaves += known.roster.length
      for (const oldest of byId.keys()) {
        if (leaves <= mostLeaves) break
        remove(oldest)
      }
    },
  }
}
