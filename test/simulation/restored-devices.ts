// Devices whose stores return to an earlier copy, while the service and the other devices continue.
import { equalBytes } from "@signet/canonical/bytes"
import { parseId } from "@signet/kernel/ids"
import { attempt, type Cast, type Rewound, wake } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import { lacksOf, type Seen, seenBy } from "./moved-history.ts"
import type { Seeded } from "./seeded.ts"

interface Copy {
  readonly putBack: () => Promise<void>
  readonly rewound: Omit<Rewound, "writtenUntil" | "atMs" | "isKeyReplaced">
  readonly isKeyReplaced: () => Promise<boolean>
  readonly seen: Seen
}

/** A rejoin takes a removal, an addition and a welcome. */
const rounds = 4
const roundMs = 31_000

export function playRestoredDevices(cast: Cast, random: Seeded): Playing {
  const copies = new Map<SimulatedDevice, Copy>()
  const restored = new Map<SimulatedDevice, Seen>()
  // The checks of a device that forgets are weaker, so beside other features most devices and half of the runs have none.
  const most = cast.features.size === 1 ? Number.POSITIVE_INFINITY : random.below(2)

  const leafKeyOf = async (deviceId: string) => {
    const id = parseId("dev", deviceId)
    return id && (await cast.service.deps.store.devices.find(id))?.leafKey
  }

  async function copy(device: SimulatedDevice): Promise<void> {
    const { messenger } = device
    if (messenger === undefined) return
    // The copy is of this moment: what is read afterwards may be later.
    const putBack = device.store.copy()
    const writtenFrom = cast.written.length
    const running = new Set(cast.written.filter((one) => one.device === device.name && one.isRunning))
    const { deviceId } = messenger
    const copied = await leafKeyOf(deviceId)
    const isKeyReplaced = async () => {
      const now = await leafKeyOf(deviceId)
      return copied !== undefined && now !== undefined && !equalBytes(copied, now)
    }
    const seen = await seenBy(cast, messenger).catch(() => undefined)
    const all = await messenger.conversations().catch(() => undefined)
    if (seen === undefined || all === undefined) return
    const ends = new Map(all.map(({ id, processedSeq }) => [id, processedSeq]))
    copies.set(device, { putBack, rewound: { ends, writtenFrom, running }, isKeyReplaced, seen })
    cast.trace.push(`${device.name} is copied`)
  }

  async function restore(device: SimulatedDevice, { putBack, rewound, isKeyReplaced, seen }: Copy): Promise<void> {
    copies.delete(device)
    for (const one of [device, cast.tabs.get(device)]) {
      one?.stop()
      one?.forgetReports()
    }
    const now = { writtenUntil: cast.written.length, atMs: cast.schedule.nowMs() }
    cast.rewound.set(device.name, { ...rewound, ...now, isKeyReplaced: await isKeyReplaced() })
    cast.watching.copies.add(device.name)
    restored.set(device, seen)
    cast.trace.push(`${device.name} returns to its copy`)
    await putBack()
    await wake(cast, device)
  }

  return {
    async act() {
      const [drawn, device] = [random.below(100), random.pick(cast.devices)]
      // After a service that has turned, nobody may be left who can add a device.
      if (device.isLost || restored.has(device) || restored.size >= most || !cast.isHonest) return
      const own = copies.get(device)
      if (own === undefined) return drawn < 40 ? copy(device) : undefined
      if (drawn < 30) await restore(device, own)
    },
    async settle() {
      for (let round = 0; round < rounds && restored.size > 0; round++) {
        for (const device of cast.devices) await attempt(cast, device, "settles", async () => device.messenger?.sync())
        await cast.schedule.wait(roundMs)
      }
    },
    async violations() {
      const found: string[] = []
      for (const [device, seen] of restored) found.push(...(await lacksOf(cast, device, seen)))
      return found
    },
  }
}
