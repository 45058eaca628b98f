import type { Context, Conversation } from "../context.ts"
import { isId } from "../ids.ts"
import { openConversationState } from "./conversation-state.ts"

type Handles = Pick<Context, "has" | "conversation" | "inTurnFor" | "wipeAll">

/** Caches the handles of conversations, one per id. @param context The dependencies of all handles. */
export function openConversations(
  shared: Parameters<typeof openConversationState>[0],
  context: () => Context,
): Handles {
  const handles = new Map<string, Conversation>()
  const turns = new Map<string, Promise<unknown>>()
  const { store, device, rows } = shared

  const inTurnFor: Handles["inTurnFor"] = (id, work) => {
    const start = () => store.inTurn?.(id, work) ?? work()
    const turn = (turns.get(id) ?? Promise.resolve()).then(start, start)
    const settled = turn
      .catch(() => undefined)
      .finally(() => {
        if (turns.get(id) === settled) turns.delete(id)
      })
    turns.set(id, settled)
    return turn
  }

  return {
    inTurnFor,
    async has(conversationId) {
      if (handles.has(conversationId)) return true
      return isId("cnv", conversationId) && (await store.read(conversationId, [])).generation > 0n
    },
    conversation(id) {
      const found = handles.get(id)
      if (found !== undefined) return found
      const opened: Conversation = {
        ...context(),
        ...openConversationState(shared, id),
        id,
        inTurn: (work) => inTurnFor(id, work),
      }
      handles.set(id, opened)
      return opened
    },
    async wipeAll() {
      device.wipeKeys()
      rows.release()
      await Promise.all([...handles.values()].map((handle) => handle.wipe()))
    },
  }
}
