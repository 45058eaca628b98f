// Rejoins: a device that writes and hears no answer asks to be removed and added again, as an app may. It does not read
// the log of the time between, which may have its message.
import type { Messenger } from "../../clients/core/messaging/index.ts"
import { attempt, type Cast, writeIn } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import type { Seeded } from "./seeded.ts"

export function playRejoins(cast: Cast, random: Seeded): Playing {
  return {
    async act() {
      const [isDue, isAnyhow, device] = [random.chance(0.3), random.chance(0.1), random.pick(cast.devices)]
      const { messenger } = device
      if (!isDue || messenger === undefined || cast.network.parted.has(device.name)) return
      for (const id of helpedConversations(cast, messenger)) {
        await writeIn(cast, device, id, {})
        const waiting = await messenger.outbox(id).catch(() => [])
        if (isAnyhow || waiting.some(({ state }) => state === "sending")) await rejoin(cast, device, messenger, id)
      }
    },
  }
}

async function rejoin(cast: Cast, device: SimulatedDevice, messenger: Messenger, id: string): Promise<void> {
  await attempt(cast, device, "rejoin", () => messenger.rejoin(id))
  // The others help at once: before that the device would read on until its removal.
  for (const other of cast.devices) {
    if (other !== device) await attempt(cast, other, "helps", async () => other.messenger?.sync())
  }
}

/** Conversations with another device that can add this one: two that rejoin at once would wait for each other. */
const helpedConversations = ({ service }: Cast, { deviceId: own }: Messenger) =>
  [...service.conversations.all.values()].flatMap(({ conversation: { id, roster, directives, status } }) => {
    const isQuiet = status === "ACTIVE" && directives.every((one) => one.status === "DONE")
    return isQuiet && roster.length > 2 && roster.some(({ deviceId }) => deviceId === own) ? [id] : []
  })
