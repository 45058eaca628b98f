import { Refused } from "@signet/kernel/errors"
import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import { withoutPackagesOf } from "@signet/kernel/messaging/block"
import type { Blocks, Devices, KeyPackages } from "@signet/kernel/messaging/ports"
import type { ClaimRecord } from "@signet/kernel/messaging/records"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"
import { inParallel } from "./in-parallel.ts"

/** Key packages are stored in the object of their device, and a claim in the object of its requester. */
export function durableKeyPackages(
  env: DurableEnv,
  devices: Pick<Devices, "activeOf" | "find">,
  blocks: Pick<Blocks, "blockersOf">,
): KeyPackages {
  const device = (id: DeviceId) => env.DEVICES.getByName(id)

  /** The active devices of the targets except the requester's, sorted, and those whose users block the requester. */
  async function targetsOf({ targets, addable, place, requester }: Parameters<KeyPackages["claim"]>[0]) {
    const blockersAmong = (userIds: readonly PrincipalId[]) => {
      const asked = userIds.filter((userId) => userId !== requester.userId && !addable.includes(userId))
      return blocks.blockersOf(requester.userId, asked, place)
    }
    const [ofUsers, named, blockersOfUsers] = await Promise.all([
      devices.activeOf(targets.userIds, place),
      inParallel(targets.deviceIds, (id) => devices.find(id)),
      blockersAmong(targets.userIds),
    ])
    const all = [...ofUsers, ...named].filter((one) => one !== undefined)
    const active = all.filter(
      (one) => one.status === "ACTIVE" && one.appId === place.appId && one.tenantId === place.tenantId,
    )
    const owners = new Set(named.flatMap((one) => one?.userId ?? [])).difference(new Set(targets.userIds))
    const blockers = [...blockersOfUsers, ...(await blockersAmong([...owners]))]
    const ids = new Set(active.map(({ id }) => id))
    ids.delete(requester.deviceId)
    const blocking = active.filter(({ userId }) => blockers.includes(userId)).map(({ id }) => id)
    return { deviceIds: [...ids].toSorted(), blocking, blockers }
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
      const { deviceIds, blocking, blockers } = await targetsOf(of)
      const asked = { id, requesterDeviceId, conversationId, requestHash, deviceIds }
      const begun = await ask(() => requester().beginClaim(asked, nowMs))
      if (begun.is === "mismatch" || begun.is === "tooMany") return { is: begun.is }
      const claimed = (claim: ClaimRecord) => ({ is: "claimed", claim: withoutPackagesOf(claim, blockers) }) as const
      if (begun.is === "claimed") return { ...claimed(begun.claim), low: [], inventory: begun.inventory }
      const claim = { claimId: id, requesterDeviceId }
      const unblocked = begun.deviceIds.filter((deviceId) => !blocking.includes(deviceId))
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
