// Other tabs: a device in two processes over one store, both of which write and read, freeze, and end anywhere.
import { decode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { actAs, type Cast } from "./actions.ts"
import { createDevice, type SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import { pictureOf } from "./picture.ts"
import { reportFaults } from "./reported.ts"
import type { Seeded } from "./seeded.ts"

export function playTabs(cast: Cast, random: Seeded): Playing {
  const { tabs } = cast
  const tabOf = (device: SimulatedDevice): SimulatedDevice => {
    const { name, userId, token } = device
    const tab = tabs.get(device) ?? createDevice(cast, name, userId, token, random.fork(name), device)
    tabs.set(device, tab)
    return tab
  }
  return {
    async act() {
      const device = random.pick(cast.devices)
      const tab = tabOf(device)
      if (random.chance(0.25)) return freezeOrThaw(cast, random, random.chance(0.5) ? device : tab)
      if (random.chance(0.8)) await actAs({ ...cast, random }, tab)
    },
    calm() {
      for (const device of cast.devices) device.thaw()
      for (const tab of tabs.values()) tab.calm()
    },
    async violations() {
      const found: string[] = []
      for (const [device, tab] of tabs) found.push(...(await differences(cast, device, tab)))
      for (const device of cast.devices) {
        const all = [...device.reports, ...(tabs.get(device)?.reports ?? [])]
        found.push(...(await amiss(cast, device, all)), ...doneTwice(cast, device))
      }
      return found
    },
  }
}

function freezeOrThaw({ trace }: Cast, random: Seeded, tab: SimulatedDevice): void {
  const isFrozen = random.chance(0.6)
  trace.push(`${tab.label} ${isFrozen ? "freezes" : "thaws"}`)
  if (isFrozen) tab.freeze()
  else tab.thaw()
}

/** Tabs show the same. */
async function differences(cast: Cast, device: SimulatedDevice, tab: SimulatedDevice): Promise<string[]> {
  const [here, there] = [await pictureOf(cast, device), await pictureOf(cast, tab)]
  if (here === undefined || there === undefined || here === there) return []
  return [`the tabs of ${device.name} differ`]
}

async function amiss(cast: Cast, device: SimulatedDevice, reports: SimulatedDevice["reports"]): Promise<string[]> {
  const { name, messenger } = device
  if (messenger === undefined) return []
  const found: string[] = []
  for (const id of cast.service.conversations.all.keys()) {
    const stored = await messenger.timeline(id, { limit: 10_000 })
    found.push(...reports.flatMap(({ log, isOver }) => reportFaults(log, id, stored, isOver())))
  }
  return found.map((what) => `${name} ${what}`)
}

/** Commits that only make new keys are as many as were asked for, at most. */
function doneTwice({ service, refreshes, features, rewound }: Cast, { name, messenger }: SimulatedDevice): string[] {
  // A credential that is renewed is put to use by new keys. An older copy of a store repeats what was asked before it.
  if (features.has("renewal") || rewound.has(name)) return []
  let done = 0
  for (const { log } of service.conversations.all.values()) {
    for (const { senderDeviceId, receipt } of log) {
      if (senderDeviceId !== messenger?.deviceId || receipt === null) continue
      const schema = CommitReceiptBodyV1Schema
      if (decode(schema, parseSigned(schema, receipt).body).proofHash.length === 0) done++
    }
  }
  const asked = refreshes.get(name) ?? 0
  return done > asked ? [`${name} was asked ${asked} times for new keys, and made them ${done} times`] : []
}
