import type { ConversationId, PrincipalId } from "@signet/kernel/ids"
import type { MemberUsers } from "@signet/kernel/messaging/listening"

type UserIds = readonly PrincipalId[]

/** Shares the lists of users among the streams of a conversation, because each stream keeps the list while it is open. */
export interface Rosters {
  /** Returns an equal list that another stream has, or this one. */
  shared(users: MemberUsers): UserIds
}

export function createRosters(): Rosters {
  const lists = new Map<ConversationId, WeakRef<UserIds>>()
  const unused = new FinalizationRegistry<ConversationId>((id) => {
    if (lists.get(id)?.deref() === undefined) lists.delete(id)
  })
  return {
    shared({ conversationId, userIds }) {
      const known = lists.get(conversationId)?.deref()
      if (known?.length === userIds.length && known.every((id, i) => id === userIds[i])) return known
      lists.set(conversationId, new WeakRef(userIds))
      unused.register(userIds, conversationId)
      return userIds
    },
  }
}
