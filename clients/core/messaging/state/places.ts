import type { Context } from "../context.ts"
import { isId } from "../ids.ts"
import { type Door, openDoor } from "./door.ts"

type Places = Pick<Context, "has" | "door" | "lane" | "forget">

/** Doors and lanes: one of each for a conversation. */
export function openPlaces(shared: Parameters<typeof openDoor>[0]): Places {
  const doors = new Map<string, Door>()
  const lanes = new Map<string, Promise<unknown>>()
  const { store, device, rows } = shared
  return {
    async has(conversationId) {
      if (doors.has(conversationId)) return true
      return isId("cnv", conversationId) && (await store.read(conversationId, [])).generation > 0n
    },
    door(conversationId) {
      const door = doors.get(conversationId) ?? openDoor(shared, conversationId)
      doors.set(conversationId, door)
      return door
    },
    lane(conversationId, work) {
      const start = () => store.inTurn?.(conversationId, work) ?? work()
      const turn = (lanes.get(conversationId) ?? Promise.resolve()).then(start, start)
      const settled = turn
        .catch(() => undefined)
        .finally(() => {
          if (lanes.get(conversationId) === settled) lanes.delete(conversationId)
        })
      lanes.set(conversationId, settled)
      return turn
    },
    async forget() {
      device.forget()
      rows.release()
      await Promise.all([...doors.values()].map((door) => door.forget()))
    },
  }
}
