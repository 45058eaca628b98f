import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Device, Device_Status } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { rosterOf } from "../receiving/roster.ts"
import { ask } from "../sending/intents.ts"
import type { Held } from "../state/held.ts"
import { deviceSpace } from "../store/store.ts"
import { allPages } from "../sync/pages.ts"
import { pause } from "../sync/pause.ts"
import { trying } from "../sync/trying.ts"

export const listDevices = ({ calls }: Pick<Context, "calls">, userId = ""): Promise<Device[]> =>
  allPages(async (pageToken) => {
    const { devices, nextPageToken } = await calls.devices.listDevices({ userId, pageToken })
    return { items: devices, nextPageToken }
  })

/** Lets the user's other devices into every conversation that this one is in. */
export async function addOwnDevices(context: Context): Promise<void> {
  const { door, owner } = context
  await addMissing(context, owner.userId, async (conversationId, active) => {
    const { outline } = (await door(conversationId).glance()) ?? {}
    // All of them are in: the state is not opened for that.
    if (outline !== undefined && active.every((id) => outline.ownDeviceIds.includes(id))) return undefined
    return door(conversationId).held()
  })
}

/** The user's own devices come first: theirs is the shorter way. */
const longestWaitMs = 10_000

/** Lets a device of another user in, where the user has none that could do it, or none that is online. */
export async function addDevicesOf(context: Context, userId: string): Promise<void> {
  const [byte = 0] = context.random.bytes(1)
  await pause(context.clock, (longestWaitMs * (256 + byte)) / 512)
  await addMissing(context, userId, async (conversationId) => {
    const { record, memberUserIds } = await context.door(conversationId).sketch()
    const isTheirs = memberUserIds.includes(userId) || record?.directUserIds.includes(userId) === true
    return isTheirs ? context.door(conversationId).held() : undefined
  })
}

/** What is held of a conversation that their devices belong into; undefined for another one. */
type Opening = (conversationId: string, active: readonly string[]) => Promise<Held | undefined>

async function addMissing(context: Context, userId: string, openIfTheirs: Opening): Promise<void> {
  const devices = await listDevices(context, userId)
  const active = devices.filter(({ status }) => status === Device_Status.ACTIVE).map(({ id }) => id)
  for (const conversationId of await context.store.spaces()) {
    if (conversationId === deviceSpace) continue
    await trying(context, conversationId, async () => {
      const held = await openIfTheirs(conversationId, active)
      if (held?.seat === undefined || held.record?.status !== Status.ACTIVE) return
      const roster = rosterOf(held.seat.group)
      const deviceIds = active.filter((id) => !roster.has(id))
      const add = { case: "add", value: { deviceIds } } as const
      if (deviceIds.length > 0) await ask(context, conversationId, add)
    })
  }
}
