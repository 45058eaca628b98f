// Cache of rosters. Every change of a roster has a receipt, whose hash identifies the roster. An epoch does not: data that
// was restored from a backup may have another epoch of this number. A large group's roster is read once per epoch instead
// of once per message.
import type { ConversationId } from "../ids.ts"
import type { Leaf } from "./records.ts"

export interface KnownRoster {
  /** Hash of the receipt that began the epoch. */
  readonly receiptHash: Uint8Array
  readonly roster: readonly Leaf[]
}

interface Rosters {
  get(id: ConversationId): KnownRoster | undefined
  put(id: ConversationId, known: KnownRoster): void
}

/** @param maxLeaves Maximum number of leaves in total; the least recently used rosters are evicted. */
export function createRosters(maxLeaves = 50_000): Rosters {
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
      if (known.roster.length > maxLeaves) return
      remove(id)
      byId.set(id, known)
      leaves += known.roster.length
      for (const oldest of byId.keys()) {
        if (leaves <= maxLeaves) break
        remove(oldest)
      }
    },
  }
}
