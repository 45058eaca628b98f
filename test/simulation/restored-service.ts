// A service whose conversations, welcomes and key packages return to an earlier state, while devices keep theirs.
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { attempt, type Cast, type Restored, writeIn } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import { type Seen, seenBy } from "./moved-history.ts"
import type { Seeded } from "./seeded.ts"
import { app } from "./service/service.ts"
import { hexOf } from "./watched.ts"

const place = { appId: app.id, tenantId: null }

const rounds = 6
const roundMs = 31_000

interface Backup {
  readonly restore: () => void
  /** Devices that were revoked before. A backup has no devices, so a revocation after it would lose its removals. */
  readonly revoked: number
  readonly epochs: Restored["epochs"]
  readonly ends: Restored["ends"]
}

export function playRestoredService(cast: Cast, random: Seeded): Playing {
  const { service, schedule, network, streams, trace } = cast
  let backup: Backup | undefined
  let read: ReadonlyMap<SimulatedDevice, Seen> | undefined
  let isRestoring = false

  async function backUp(): Promise<void> {
    const revoked = await countRevoked(cast)
    const epochs = new Map(
      [...service.conversations.all.values()].map(({ conversation: { mlsGroupId, epoch } }) => [
        hexOf(mlsGroupId),
        epoch,
      ]),
    )
    const ends = new Map(
      [...service.conversations.all.values()].map(({ conversation: { id, headSeq } }) => [id, headSeq]),
    )
    backup = { restore: service.backUp(), revoked, epochs, ends }
    trace.push("the service is backed up")
  }

  async function restore({ restore: putBack, revoked, epochs, ends }: Backup): Promise<void> {
    const seen = new Map<SimulatedDevice, Seen>()
    for (const device of cast.devices) {
      const { messenger } = device
      const found = messenger && (await seenBy(cast, messenger).catch(() => undefined))
      if (found !== undefined) seen.set(device, found)
    }
    backup = undefined
    if (revoked !== (await countRevoked(cast))) return
    read = seen
    const added = new Map(
      [...service.conversations.all.values()].map(({ conversation: { id }, spans }) => [
        id,
        spans.filter(({ fromSeq }) => fromSeq > (ends.get(id) ?? 0n)).map(({ deviceId }) => deviceId),
      ]),
    )
    cast.restored = { epochs, ends, added }
    trace.push("the service is restored")
    putBack()
    for (const stream of [...streams]) stream.cut("loudly")
    network.isDown = true
    schedule.after(500 + random.below(2_500), () => {
      network.isDown = false
    })
  }

  return {
    async act() {
      const drawn = random.below(100)
      if (read !== undefined || isRestoring) return
      if (backup === undefined) return drawn < 12 ? backUp() : undefined
      if (drawn >= 10) return
      isRestoring = true
      await restore(backup)
      isRestoring = false
    },
    async settle() {
      if (read === undefined || !cast.isHonest) return
      for (const device of cast.devices) {
        for (const { id, status } of (await device.messenger?.conversations()) ?? []) {
          if (status === "active") await writeIn(cast, device, id, { isAfterAll: true })
        }
      }
      for (let round = 0; round < rounds; round++) {
        for (const device of cast.devices) await attempt(cast, device, "settles", async () => device.messenger?.sync())
        await schedule.wait(roundMs)
      }
    },
    async violations() {
      const found: string[] = []
      for (const [device, seen] of read ?? []) found.push(...(await losses(cast, device, seen)))
      return found
    },
  }
}

/** How many states an epoch may have: two, if the service has lost it, and counts another one in its place. */
export function statesOf({ restored }: Cast, place: string): number {
  const [group = "", epoch = "0"] = place.split(" ")
  return restored !== undefined && BigInt(epoch) > (restored.epochs.get(group) ?? 0n) ? 2 : 1
}

/** True for a device that a commit added which the service lost: if its number was used again, nobody adds the device. */
export const isForgotten = ({ restored }: Cast, id: string, { deviceId }: Messenger): boolean =>
  restored?.added.get(id)?.includes(deviceId) === true

async function countRevoked({ users, service }: Cast): Promise<number> {
  const all = await Promise.all(users.map((user) => service.deps.store.devices.ofUser(user, place)))
  return all.flatMap((one) => one.devices).filter(({ status }) => status === "REVOKED").length
}

/** A device shows each message that it showed before the restore, at the same number. */
async function losses(cast: Cast, { name, messenger }: SimulatedDevice, seen: Seen): Promise<string[]> {
  const shown = messenger && (await seenBy(cast, messenger))
  if (shown === undefined) return []
  return [...seen]
    .filter(([place, text]) => shown.get(place) !== text)
    .map(([place, text]) => `${name} has lost "${text}" of ${place}`)
}
