import type { Cast } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"

/** Everything that a device shows of its conversations; undefined for one that is not running. */
export async function pictureOf({ service }: Cast, { messenger }: SimulatedDevice): Promise<string | undefined> {
  if (messenger === undefined) return undefined
  const all = [...service.conversations.all.keys()]
  const held = await Promise.all(
    all.map(async (id) => [await messenger.conversation(id), await messenger.timeline(id, { limit: 10_000 })]),
  )
  return JSON.stringify(held, (_, value) => (typeof value === "bigint" ? String(value) : value))
}
