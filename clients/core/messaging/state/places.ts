import type { Context, Conversation } from "../context.ts"
import { isId } from "../ids.ts"
import { openDoor } from "./door.ts"

type Places = Pick<Context, "has" | "conversation" | "inTurnFor" | "wipeAll">

/** The handles of conversations: one for each id. @param context what every handle shares. */
export function openPlaces(shared: Parameters<typeof openDoor>[0], context: () => Context): Places {
  const handles = new Map<string, Conversation>()
  const turns = new Map<string, Promise<unknown>>()
  const { store, device, rows } = shared

  const inTurnFor: Places["inTurnFor"] = (id, work) => {
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
      const opened: Conversation = { ...context(), ...openDoor(shared, id), id, inTurn: (work) => inTurnFor(id, work) }
      handles.set(id, opened)
      return opened
    },
    async wipeAll() {
      device.forget()
      rows.release()
      await Promise.all([...handles.values()].map((handle) => handle.forget()))
    },
  }
}
