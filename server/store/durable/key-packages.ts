import { Refused } from "@signet/kernel/errors"
import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import { withoutPackagesOf } from "@signet/kernel/messaging/block"
import type { Blocks, Devices, KeyPackages } from "@signet/kernel/messaging/ports"
import type { ClaimRecord, Place } from "@signet/kernel/messaging/records"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"
import { inParallel } from "./in-parallel.ts"
import { userName } from "./names.ts"

/** Key packages are stored in the object of their device, and a claim in the object of its requester. */
export function durableKeyPackages(
  env: DurableEnv,
  devices: Pick<Devices, "find">,
  blocks: Pick<Blocks, "blockersOf">,
): KeyPackages {
  const device = (id: DeviceId) => env.DEVICES.getByName(id)
  const user = (id: PrincipalId, place: Place) => env.USERS.getByName(userName(id, place))

  /** The active devices of the targets except the requester's, sorted, and those whose users block the requester. */
  async function targetsOf({ targets, addable, place, requester }: Parameters<KeyPackages["claim"]>[0]) {
    const userIds = [...new Set(targets.userIds)]
    const [users, named] = await Promise.all([
      inParallel(userIds, (userId) => ask(() => user(userId, place).target(requester.userId))),
      inParallel(targets.deviceIds, (id) => devices.find(id)),
    ])
    const all = [...users.flatMap((one) => one.devices), ...named].filter((one) => one !== undefined)
    const active = all.filter(
      (one) => one.status === "ACTIVE" && one.appId === place.appId && one.tenantId === place.tenantId,
    )
    const owners = named.flatMap((one) => one?.userId ?? []).filter((userId) => !userIds.includes(userId))
    const blockersOfUsers = userIds.filter((_, i) => users[i]?.isBlocking)
    const blocking = [...blockersOfUsers, ...(await blocks.blockersOf(requester.userId, owners, place))]
    const blockers = blocking.filter((userId) => userId !== requester.userId && !addable.includes(userId))
    const ids = new Set(active.map(({ id }) => id))
    ids.delete(requester.deviceId)
    const blocked = active.filter(({ userId }) => blockers.includes(userId)).map(({ id }) => id)
    return { deviceIds: [...ids].toSorted(), blocked, blockers }
  }

  return {
    async upload(packages, nowMs) {
      const [first] = packages
      if (first === undefined) throw new Error("an upload has a package")
      return ask(() => device(first.deviceId).upload(packages, nowMs))
    },

    async claim(of, nowMs, audit) {
      const { id, conversationId, requestHash } = of
      const requesterDeviceId = of.requester.deviceId
      const requester = () => device(requesterDeviceId)
      const { deviceIds, blocked, blockers } = await targetsOf(of)
      const asked = { id, requesterDeviceId, conversationId, requestHash, deviceIds }
      const begun = await ask(() => requester().beginClaim(asked, nowMs))
      if (begun.is === "mismatch" || begun.is === "tooMany") return { is: begun.is }
      const claimed = (claim: ClaimRecord) => ({ is: "claimed", claim: withoutPackagesOf(claim, blockers) }) as const
      if (begun.is === "claimed") return { ...claimed(begun.claim), low: [], inventory: begun.inventory }
      const claim = { claimId: id, requesterDeviceId }
      const unblocked = begun.deviceIds.filter((deviceId) => !blocked.includes(deviceId))
      const taken = await inParallel(unblocked, async (deviceId) => ({
        deviceId,
        ...(await ask(() => device(deviceId).take(claim, nowMs))),
      }))
      const packages = taken.flatMap((one) => one.taken ?? [])
      const finished = await ask(() => requester().finishClaim({ id, requesterDeviceId }, packages, { audit, nowMs }))
      // The claim has expired since it began.
      if (finished === undefined) throw new Refused("UNAVAILABLE")
      const low = finished.isFirst ? taken.filter(({ isLow }) => isLow).map(({ deviceId }) => deviceId) : []
      return { ...claimed(finished.claim), low, inventory: finished.inventory }
    },

    inventory: (deviceId, nowMs) => ask(() => device(deviceId).inventory(nowMs)),
    retire: (deviceId, refs) => ask(() => device(deviceId).retire(refs)),
  }
}
