// After a service that had turned. It tells the truth again; whoever was deceived finds out, and is let in again.
import type { ConversationStatus, Messenger } from "../../clients/core/messaging/index.ts"
import { attempt, type Cast, refresh, writeIn } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"

/**
 * Everybody who can commits once, which shows whoever is elsewhere that they are; those ask to be let in again; and then
 * everybody says something, which is for everybody.
 *
 * @param settle has everybody come back until nothing changes any more.
 */
export async function recover(cast: Cast, settle: () => Promise<void>): Promise<void> {
  await inEach(cast, "active", "refresh", (messenger, id, device) => refresh(cast, device, messenger, id))
  await settle()
  await inEach(cast, "quarantined", "rejoin", (messenger, id) => messenger.rejoin(id))
  await settle()
  for (const device of cast.devices) {
    for (const { id, status } of (await device.messenger?.conversations()) ?? []) {
      if (status === "active") await writeIn(cast, device, id, { isAfterAll: true })
    }
  }
  await settle()
}

async function inEach(
  cast: Cast,
  status: ConversationStatus,
  what: string,
  work: (messenger: Messenger, conversationId: string, device: SimulatedDevice) => Promise<void>,
): Promise<void> {
  for (const device of cast.devices) {
    const { messenger } = device
    for (const one of (await messenger?.conversations()) ?? []) {
      if (messenger === undefined || one.status !== status) continue
      await attempt(cast, device, `${what} after all`, () => work(messenger, one.id, device))
    }
  }
}
