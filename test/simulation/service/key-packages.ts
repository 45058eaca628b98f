import type { ClaimId, DeviceId } from "@signet/kernel/ids"
import { withoutPackagesOf } from "@signet/kernel/messaging/block"
import { equalBytes, hex } from "@signet/kernel/messaging/bytes"
import {
  chooseKeyPackage,
  decideClaim,
  inventoryOf,
  isClaimable,
  uploadFault,
} from "@signet/kernel/messaging/key-package"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { Blocks, Devices, KeyPackages } from "@signet/kernel/messaging/ports"
import type { ClaimRecord, KeyPackageRecord } from "@signet/kernel/messaging/records"
import { backUpOf } from "./back-up.ts"

export interface ModelKeyPackages extends KeyPackages {
  /** Those that are given out for a device now, for the invariants. */
  claimable(deviceId: DeviceId, nowMs: number): readonly KeyPackageRecord[]
  backUp(): () => void
}

/** The store of key packages, in memory. */
export function modelKeyPackages(devices: Devices, blocks: Blocks): ModelKeyPackages {
  const packages = new Map<string, KeyPackageRecord>()
  const claims = new Map<ClaimId, ClaimRecord>()
  const of = (deviceId: DeviceId) => [...packages.values()].filter((one) => one.deviceId === deviceId)
  const become = (one: KeyPackageRecord, status: KeyPackageRecord["status"]) =>
    packages.set(hex(one.ref), { ...one, status })
  const inventory = (deviceId: DeviceId, nowMs: number) => {
    const claimable = of(deviceId).filter((one) => isClaimable(one, nowMs))
    const lastResorts = claimable.filter(({ isLastResort }) => isLastResort).length
    return inventoryOf({ available: claimable.length - lastResorts, hasLastResort: lastResorts > 0 })
  }
  return {
    backUp() {
      const restores = [backUpOf(packages), backUpOf(claims)]
      return () => {
        for (const restore of restores) restore()
      }
    },
    claimable: (deviceId, nowMs) => of(deviceId).filter((one) => isClaimable(one, nowMs)),
    async upload(uploaded, nowMs) {
      const [first] = uploaded
      if (first === undefined) throw new Error("an upload has a package")
      const isOther = uploaded.some((one) => {
        const known = packages.get(hex(one.ref))
        return known !== undefined && !(known.deviceId === one.deviceId && equalBytes(known.bytes, one.bytes))
      })
      if (isOther) return { is: "duplicate" }
      const fresh = uploaded.filter(({ ref }) => !packages.has(hex(ref)))
      const before = inventory(first.deviceId, nowMs)
      if (uploadFault(before.available, fresh) !== undefined) return { is: "full", inventory: before }
      if (fresh.some(({ isLastResort }) => isLastResort)) {
        for (const one of of(first.deviceId)) if (one.isLastResort) become(one, "RETIRED")
      }
      for (const one of fresh) packages.set(hex(one.ref), one)
      return { is: "done", inventory: inventory(first.deviceId, nowMs) }
    },
    async claim({ id, requester, conversationId, targets, addable, place, requestHash }, nowMs) {
      const found = claims.get(id)
      const decision = decideClaim(found, { requestHash, requesterDeviceId: requester.deviceId })
      if (decision === "IDEMPOTENCY_MISMATCH") return { is: "mismatch" }
      const users = await devices.activeOf(targets.userIds, place)
      const named = await Promise.all(targets.deviceIds.map((one) => devices.find(one)))
      const owners = [...users, ...named].flatMap((one) => (one === undefined ? [] : [one.userId]))
      const asked = owners.filter((one) => !addable.includes(one))
      const blockers = await blocks.blockersOf(requester.userId, asked, place)
      const own = () => inventory(requester.deviceId, nowMs)
      if (found !== undefined) {
        return { is: "claimed", claim: withoutPackagesOf(found, blockers), low: [], inventory: own() }
      }
      const blocking = [...users, ...named].flatMap((one) => (one && blockers.includes(one.userId) ? [one.id] : []))
      const ids = [...users, ...named].flatMap((one) => (one?.status === "ACTIVE" ? [one.id] : []))
      const targetIds = [...new Set(ids)].filter((one) => one !== requester.deviceId).sort()
      if (targetIds.length > maxCount.subjectsPerCommit) return { is: "tooMany" }
      const chosen: KeyPackageRecord[] = []
      const withoutDeviceIds: DeviceId[] = []
      for (const deviceId of targetIds) {
        const one = blocking.includes(deviceId) ? undefined : chooseKeyPackage(of(deviceId), nowMs)
        if (one === undefined) withoutDeviceIds.push(deviceId)
        else chosen.push(one)
        if (one !== undefined && !one.isLastResort) become(one, "CLAIMED")
      }
      const claim = {
        id,
        requesterDeviceId: requester.deviceId,
        conversationId,
        requestHash,
        packages: chosen,
        withoutDeviceIds,
        claimedAtMs: nowMs,
      }
      claims.set(id, claim)
      return { is: "claimed", claim, low: [], inventory: own() }
    },
    inventory: async (deviceId, nowMs) => inventory(deviceId, nowMs),
    async retire(deviceId, refs) {
      for (const one of of(deviceId)) {
        const isMeant = refs === "all" || refs.some((ref) => equalBytes(ref, one.ref))
        if (isMeant && one.status === "AVAILABLE") become(one, "RETIRED")
      }
    },
  }
}
