// Key packages: uploaded, claimed, retired.

import { idOf } from "@signet/kernel/ids"
import { newClaimId } from "../../support/messaging/committing.ts"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import { anyRoom, namePackages, type Step } from "../side.ts"
import { turned, uploadFrom } from "./people.ts"

const upload: Step = async (act) => {
  const { side, rng } = act
  const isLastResort = rng.chance(0.2)
  await uploadFrom(act, rng.pick(side.devices), isLastResort ? 1 : 1 + rng.below(4), isLastResort)
}

const badUpload: Step = async (act) => {
  const { side, rng } = act
  const [device, other] = [rng.pick(side.devices), rng.pick(side.devices)]
  const [one, two] = await device.newKeyPackages(2)
  const [foreign] = await other.newKeyPackages(1)
  for (const maker of [device, other]) namePackages(side, maker)
  if (one === undefined || two === undefined || foreign === undefined) return
  const isTurned = rng.chance(0.5)
  const keyPackage = isTurned
    ? turned(one.keyPackage, rng.below(1_000))
    : rng.pick([
        randomBytes(200),
        one.keyPackage.subarray(0, 150),
        Uint8Array.of(...one.keyPackage, 0),
        foreign.keyPackage,
      ])
  const isLastResort = rng.chance(0.2)
  const packages = rng.chance(0.5) ? [{ keyPackage, isLastResort }] : [{ keyPackage: two.keyPackage }, { keyPackage }]
  const see = isTurned ? act.seeIf : act.see
  await see("uploadKeyPackages, bad", () => device.calls.keyPackages.uploadKeyPackages({ packages }))
  await act.see("getInventory", () => device.calls.keyPackages.getInventory({}))
}

const inventory: Step = async (act) => {
  const device = act.rng.pick(act.side.devices)
  await act.see("getInventory", () => device.calls.keyPackages.getInventory({}))
}

const retire: Step = async (act) => {
  const { side, rng } = act
  const device = rng.pick(side.devices)
  const own = [...device.packages.values()].map(({ reference }) => reference)
  // All or none of them: which were claimed is another question on another server.
  const keyPackageRefs = rng.chance(0.5) ? own : [randomBytes(32), ...(rng.chance(0.3) ? [randomBytes(31)] : [])]
  await act.see("retireKeyPackages", () => device.calls.keyPackages.retireKeyPackages({ keyPackageRefs }))
}

const claim: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const device = rng.chance(0.85) ? found.device : rng.pick(side.devices)
  const userIds = distinct(Array.from({ length: rng.below(3) }, () => rng.pick(side.people).session.userId))
  const deviceIds = distinct(Array.from({ length: rng.below(3) }, () => rng.pick(side.devices).id))
  if (rng.chance(0.1))
    deviceIds.push(
      idOf(
        "dev",
        randomBytes(16).map((byte, i) => (i === 0 ? byte & 0x7f : byte)),
      ),
    )
  const request = { claimId: newClaimId(), conversationId: found.room.id, userIds, deviceIds }
  const call = () => device.calls.keyPackages.claimKeyPackages(request)
  await act.see("claimKeyPackages", call)
  side.again.push({ what: "claimKeyPackages", call, by: device })
  const other = () => device.calls.keyPackages.claimKeyPackages({ ...request, userIds: [device.userId] })
  if (rng.chance(0.2)) await act.see("claimKeyPackages, of others with the same id", other)
}

/** A few claim at once what may not be enough for all. */
const claimsAtOnce: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const target = rng.pick(side.devices)
  const calls = Array.from({ length: 2 + rng.below(4) }, () => () => {
    const request = { claimId: newClaimId(), conversationId: found.room.id, deviceIds: [target.id] }
    return found.device.calls.keyPackages.claimKeyPackages(request)
  })
  const taken = await act.seeAll("claimKeyPackages, at once", calls)
  const refs = taken.flatMap(({ claim: one }) => one?.keyPackages ?? []).filter(({ isLastResort }) => !isLastResort)
  const names = refs.map(({ keyPackageRef }) => Buffer.from(keyPackageRef).toString("hex"))
  act.write("key packages claimed twice", names.length - new Set(names).size)
}

export const distinct = <T>(all: readonly T[]): T[] => [...new Set(all)]

export const keyPackages: Readonly<Record<string, readonly [number, Step]>> = {
  upload: [5, upload],
  badUpload: [3, badUpload],
  inventory: [2, inventory],
  retire: [1, retire],
  claim: [4, claim],
  claimsAtOnce: [1, claimsAtOnce],
}
