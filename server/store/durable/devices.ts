import type { DeviceId } from "@signet/kernel/ids"
import { isReadable, placeHeld } from "@signet/kernel/messaging/moving"
import type { DeviceChange, Devices } from "@signet/kernel/messaging/ports"
import type { Place } from "@signet/kernel/messaging/records"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"
import { inParallel } from "./in-parallel.ts"
import { keyName, placeName, userName } from "./names.ts"
import type { Revoked } from "./user/object.ts"

/** The number of devices whose user this process remembers. */
const remembered = 10_000

/**
 * Devices are stored in the object of their user, so that a change is one write. A device's object names its user
 * permanently, and a leaf key's name names its device.
 *
 * @param due The result of `dueEffects`. Only a user's object knows its own due effects; no object knows all of them.
 */
export function durableDevices(env: DurableEnv, due: () => Promise<readonly Revoked[]>): Devices {
  const users = new Map<DeviceId, string>()

  async function userOf(id: DeviceId): Promise<string | undefined> {
    const known = users.get(id)
    if (known !== undefined) return known
    const found = await ask(() => env.DEVICES.getByName(id).user())
    if (found === undefined) return undefined
    users.set(id, found)
    const [oldest] = users.keys()
    if (users.size > remembered && oldest !== undefined) users.delete(oldest)
    return found
  }

  /** A missing record may have been moved. @throws Refused PLACE_HELD */
  async function refuseUnread(place: Place): Promise<void> {
    const { state } = await ask(() => env.PLACES.getByName(placeName(place)).status())
    if (!isReadable(state)) throw placeHeld()
  }

  return {
    async find(id, at) {
      const user = await userOf(id)
      const found = user === undefined ? undefined : await ask(() => env.USERS.getByName(user).find(id))
      if (found === undefined && at !== undefined) await refuseUnread(at)
      return found
    },

    async findByKey(leafKey) {
      const holder = await ask(() => env.NAMES.getByName(keyName(leafKey)).holder())
      if (holder === undefined) return undefined
      return ask(() => env.USERS.getByName(holder.at).findByKey(deviceIdOf(holder.owner), leafKey))
    },

    async ofUser(userId, place) {
      const found = await ask(() => env.USERS.getByName(userName(userId, place)).all())
      if (found.newest === undefined) await refuseUnread(place)
      return found
    },

    async activeOf(userIds, place) {
      const names = [...new Set(userIds)].toSorted().map((userId) => userName(userId, place))
      return (await inParallel(names, (name) => ask(() => env.USERS.getByName(name).active()))).flat()
    },

    async lists(userId, place, afterVersion, limit) {
      const found = await ask(() => env.USERS.getByName(userName(userId, place)).lists(afterVersion, limit))
      if (found.length === 0) await refuseUnread(place)
      return found
    },

    async change(change) {
      const name = userName(change.userId, change.place)
      const user = () => env.USERS.getByName(name)
      // The place knows the user before the device exists, so that a move finds it.
      const { userId, place, list } = change
      const isAdmitted =
        list.version > 1n || (await ask(() => env.PLACES.getByName(placeName(place)).admit({ userId })))
      if (!isAdmitted) throw placeHeld()
      const first = await ask(() => user().change(change, false))
      if (first.is !== "prepare") return first.is
      const prepared = await Promise.all(first.devices.map((id) => prepare(env, change, id, name)))
      if (prepared.includes("lost")) return "lost"
      const second = await ask(() => user().change(change, true))
      return second.is === "done" ? "done" : "lost"
    },

    async bindSession(sessionId, deviceId, audit) {
      const user = await userOf(deviceId)
      if (user === undefined) throw new Error("a session is bound to a device that is there")
      await ask(() => env.USERS.getByName(user).bindSession(sessionId, deviceId, audit))
    },

    dueEffects: async (limit) => (await due()).slice(0, limit),

    async effectsDone(deviceId) {
      const user = await userOf(deviceId)
      if (user !== undefined) await ask(() => env.USERS.getByName(user).effectsDone(deviceId))
    },
  }
}

/**
 * Assigns the device to its user, and takes the name of its leaf key. If an abandoned change holds the name, its user's
 * object first gives it up.
 */
async function prepare(env: DurableEnv, change: DeviceChange, id: DeviceId, at: string): Promise<"ready" | "lost"> {
  const device = change.devices.find((one) => one.id === id)
  if (device === undefined) return "lost"
  const { leafKey } = device
  if ((await ask(() => env.DEVICES.getByName(id).belong(at))) !== at) return "lost"
  const name = () => env.NAMES.getByName(keyName(leafKey))
  const before = await ask(() => name().take({ owner: id, at }))
  if (before.owner === id) return "ready"
  const settled = await ask(() => env.USERS.getByName(before.at).settleKey(deviceIdOf(before.owner), leafKey))
  if (settled === "held") return "lost"
  const after = await ask(() => name().replace(before.owner, { owner: id, at }))
  return after.owner === id ? "ready" : "lost"
}

/** Only devices hold the name of a leaf key. */
const deviceIdOf = (owner: string): DeviceId => owner as DeviceId
