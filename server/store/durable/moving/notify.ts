// Notifies every object of a place of its new state, page by page, until no object is dirty.
import type { DeviceId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { inParallel } from "../in-parallel.ts"
import { placeName, userName } from "../names.ts"
import type { WalkPage } from "./place.ts"
import type { Residence } from "./residence.ts"

/** @returns True once all objects are in the new state; false at `untilMs`, and a later call continues. */
export async function notifyObjects(
  env: DurableEnv,
  of: Pick<Residence, "place" | "transferId">,
  clock: { readonly nowMs: () => number; readonly untilMs: number },
): Promise<boolean> {
  const place = () => env.PLACES.getByName(placeName(of.place))
  for (;;) {
    const page = await ask(() => place().nextWalk())
    if (page === undefined) return true
    const isDirty = await notifyPage(env, { ...of, state: page.state, turn: page.turn }, page)
    await ask(() => place().walked(page, isDirty, clock.nowMs()))
    if (clock.nowMs() >= clock.untilMs) return false
  }
}

async function notifyPage(env: DurableEnv, residence: Residence, page: WalkPage): Promise<boolean> {
  if (page.phase === "conversations") {
    const answers = await inParallel(page.ids, (id) => ask(() => env.CONVERSATIONS.getByName(id).setPlace(residence)))
    return answers.some(({ isDirty }) => isDirty)
  }
  const answers = await inParallel(page.ids, async (userId) => {
    const user = env.USERS.getByName(userName(userId, residence.place))
    const { isDirty } = await ask(() => user.setPlace(residence))
    // The notified user accepts no more devices, and a notified device no more attachments.
    const ofDevices = await Promise.all(
      (await ask(() => user.deviceIds())).map(async (id) => {
        const device = env.DEVICES.getByName(id)
        const settled = await ask(() => device.setPlace(residence))
        const ids = await allAttachments(env, residence.place, id)
        const ofFiles = await inParallel(ids, (one) =>
          ask(() => env.ATTACHMENTS.getByName(one).setPlaceOf(id, residence)),
        )
        return [settled, ...ofFiles].some((one) => one.isDirty)
      }),
    )
    return isDirty || ofDevices.includes(true)
  })
  return answers.includes(true)
}

const idsAtOnce = 500

export async function allAttachments(env: DurableEnv, place: Place, deviceId: DeviceId) {
  const device = env.DEVICES.getByName(deviceId)
  const all: Awaited<ReturnType<typeof device.attachmentIds>>[number][] = []
  for (;;) {
    const page = await ask(() => device.attachmentIds(place, all.at(-1) ?? null, idsAtOnce))
    all.push(...page)
    if (page.length < idsAtOnce) return all
  }
}
