// People and their devices.
import type { NewKeyPackage } from "../../../clients/core/messaging/mls.ts"
import { refusal } from "../../conformance/scene.ts"
import type { TestDevice } from "../../support/messaging/device.ts"
import {
  deviceRequest,
  engine,
  hexOf,
  newLeafKey,
  nowSeconds,
  randomBytes,
} from "../../support/messaging/device-parts.ts"
import { type Act, joined, namePackages, type Step } from "../side.ts"
import { expectDirectives } from "./waiting.ts"

const mostPeople = 12
const mostDevices = 30

async function enroll(act: Act, by: Parameters<typeof joined>[1]): Promise<void> {
  const { side, rng } = act
  const device = await joined(side, by, rng.below(4))
  const registered = await act.see("registerDevice", () => device.register())
  if (registered === undefined) return
  by.devices.push(device)
  side.devices.push(device)
  const count = rng.below(4)
  if (count > 0) await uploadFrom(act, device, count, false)
  if (rng.chance(0.3)) await uploadFrom(act, device, 1, true)
}

export async function uploadFrom(act: Act, device: TestDevice, count: number, isLastResort: boolean): Promise<void> {
  // The one that ends first is claimed first, so each upload ends at another time.
  const notBefore = nowSeconds() - 3_600
  const notAfter = notBefore + (isLastResort ? 80 : 25) * 86_400 + 60 * act.side.uploads++
  const made: NewKeyPackage[] = []
  for (let i = 0; i < count; i++) {
    made.push(await engine.newKeyPackage(device.identity, { notBefore, notAfter, isLastResort }))
  }
  for (const one of made) device.packages.set(hexOf(one.reference), one)
  namePackages(act.side, device)
  const packages = made.map(({ keyPackage }) => ({ keyPackage, isLastResort }))
  const call = () => device.calls.keyPackages.uploadKeyPackages({ packages })
  await act.see(`uploadKeyPackages${isLastResort ? ", last resort" : ""}`, call)
  act.side.again.push({ what: "uploadKeyPackages", call, by: device })
}

const somebodyNew: Step = async (act) => {
  const { side } = act
  if (side.people.length >= mostPeople || side.devices.length >= mostDevices) return
  const somebody = { session: await side.world.newUser(), devices: [] }
  side.people.push(somebody)
  await enroll(act, somebody)
}

const anotherDevice: Step = async (act) => {
  const { side, rng } = act
  if (side.devices.length >= mostDevices || side.people.length === 0) return
  const somebody = rng.pick(side.people)
  if (somebody.devices.length < 4) await enroll(act, somebody)
}

const renew: Step = async (act) => {
  const device = act.rng.pick(act.side.devices)
  await act.see("renewCredential", () => device.renew())
}

const revoke: Step = async (act) => {
  const { side, rng } = act
  const somebody = rng.pick(side.people)
  if (somebody.devices.length < 2) return
  const [device, victim] = [rng.pick(somebody.devices), rng.pick(somebody.devices)]
  const answer = await act.see("revokeDevice", () => device.calls.devices.revokeDevice({ deviceId: victim.id }))
  if (answer === undefined) return
  await expectDirectives(act, victim)
  // Its session has ended, too: which of the two it is told first is a matter of moments.
  const ended = new Set<unknown>(["DEVICE_REVOKED", "SESSION_REVOKED"])
  const told = await refusal(victim.calls.keyPackages.getInventory({}))
  act.write("a call of the device that was revoked", ended.has(told.reason) ? "refused" : told.reason)
  leave(side.devices, victim)
  leave(somebody.devices, victim)
  for (const one of side.again.filter(({ by }) => by === victim)) leave(side.again, one)
  for (const one of side.attachments.filter(({ by }) => by === victim)) leave(side.attachments, one)
}

function leave<T>(all: T[], one: T): void {
  all.splice(all.indexOf(one), 1)
}

const badRequests: Step = async (act) => {
  const { side, rng } = act
  const device = rng.pick(side.devices)
  const other = rng.pick(side.devices)
  const { devices } = device.calls
  const fine = () => deviceRequest(newLeafKey(), device.place, device.userId)
  const requests: readonly (readonly [string, () => Promise<Uint8Array>])[] = [
    ["random", async () => randomBytes(100)],
    ["cut", async () => (await fine()).subarray(0, 50)],
    ["with a bit turned", async () => turned(await fine(), rng.below(100))],
    [
      "of yesterday",
      () => deviceRequest(newLeafKey(), device.place, device.userId, { issuedAt: BigInt(nowSeconds() - 86_400) }),
    ],
    [
      "of tomorrow",
      () => deviceRequest(newLeafKey(), device.place, device.userId, { issuedAt: BigInt(nowSeconds() + 86_400) }),
    ],
    ["of somebody else", () => deviceRequest(newLeafKey(), device.place, other.userId)],
    ["with the key of a device", () => deviceRequest(other.key, device.place, device.userId)],
    ["empty", async () => new Uint8Array()],
  ]
  const [what, make] = rng.pick(requests)
  const bytes = await make()
  const see = what === "with a bit turned" ? act.seeIf : act.see
  if (rng.chance(0.5)) await see(`registerDevice, ${what}`, () => devices.registerDevice({ deviceRequest: bytes }))
  else {
    const deviceId = rng.chance(0.5) ? device.id : other.id
    await see(`renewCredential, ${what}`, () => devices.renewCredential({ deviceId, deviceRequest: bytes }))
  }
}

export function turned(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[at % copy.length] = (copy[at % copy.length] ?? 0) ^ 1
  return copy
}

export const people: Readonly<Record<string, readonly [number, Step]>> = {
  somebodyNew: [2, somebodyNew],
  anotherDevice: [2, anotherDevice],
  renew: [1, renew],
  revoke: [0.5, revoke],
  badRequests: [2, badRequests],
}
