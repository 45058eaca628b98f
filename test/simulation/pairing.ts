// New devices: a user pairs one with an old device, which transfers the history. Both stop anywhere, and continue.
import { parseId } from "@signet/kernel/ids"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import {
  cancelHistory,
  grantHistoryByQr,
  requestHistoryByQr,
  runHistory,
} from "../../clients/core/messaging/history/index.ts"
import { transferIds } from "../../clients/core/messaging/history/rows.ts"
import type { Messenger } from "../../clients/core/messaging/index.ts"
import { contextOf } from "../../clients/core/messaging/opened-messengers.ts"
import { StoreFault } from "../../clients/core/messaging/testing/faulty-store.ts"
import { addDevice, attempt, type Cast, hasForgotten, wake } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import { lacksOf, type Seen, seenBy } from "./moved-history.ts"
import type { Seeded } from "./seeded.ts"
import { app } from "./service/service.ts"
import { leaves, watchWebCrypto } from "./web-crypto.ts"

interface Pairing {
  readonly transferId: string
  readonly from: SimulatedDevice
  readonly to: SimulatedDevice
  /** What the old device had. */
  readonly seen: Seen
  /** Before the new device stored its request. */
  readonly requestedAtMs: number
  /** Before the old device stored its grant. */
  readonly scannedAtMs: number
  readonly expiresAtMs: number
}

const place = { appId: app.id, tenantId: null }
const maxPairings = 2
/** A run of a transfer is interrupted after this time at the latest, in simulated milliseconds. */
const runMs = 5_000
const peaceMs = 60_000
const rounds = 10

export function playPairing(cast: Cast, random: Seeded): Playing {
  const { schedule } = cast
  const wrong: string[] = []
  if (!cast.features.has("attachments")) watchWebCrypto(schedule, wrong)
  cast.service.hearParts.add(leaves)
  const pairings: Pairing[] = []
  const refused = new Set<SimulatedDevice>()
  /** Their process ended in a run, perhaps between the deletion of an ended transfer and its report. */
  const interrupted = new Set<SimulatedDevice>()
  let begun = 0

  async function pair(): Promise<void> {
    const from = random.pick(cast.devices)
    const user = cast.users.find((one) => one === from.userId)
    if (from.messenger === undefined || user === undefined || begun === maxPairings) return
    begun++
    const to = addDevice(cast, user)
    await wake({ ...cast, random }, to)
    const { messenger } = to
    if (messenger === undefined) return
    await attempt(cast, to, `shows a code to ${from.name}`, async () => {
      const requestedAtMs = schedule.nowMs()
      const { transferId, qr } = await requestHistoryByQr(messenger)
      const old = from.messenger
      if (old === undefined) return
      const seen = await seenBy(cast, old)
      const scannedAtMs = schedule.nowMs()
      // The user scans again if it failed, or twice.
      for (let i = 0; i < 2; i++) {
        await attempt(cast, from, `scans the code of ${to.name}`, () => grantHistoryByQr(old, qr))
      }
      const archives = await cast.service.deps.store.archives.ofUser(user, place)
      const granted = archives.find(({ id, grant }) => id === transferId && grant !== "")
      if (granted === undefined) return
      const { expiresAtMs } = granted
      pairings.push({ transferId, from, to, seen, requestedAtMs, scannedAtMs, expiresAtMs })
    })
  }

  /** @param progress The number of chunks after which the app stops it. */
  async function goOn(device: SimulatedDevice, ms: number, progress = Number.POSITIVE_INFINITY): Promise<void> {
    const { messenger } = device
    if (messenger === undefined) return
    const stopping = new AbortController()
    let left = progress
    schedule.after(ms, () => stopping.abort())
    const onProgress = () => {
      if (--left === 0) stopping.abort()
    }
    await attempt(cast, device, "goes on with a history", () =>
      runHistory(messenger, { signal: stopping.signal, onProgress }).catch((error: unknown) => {
        if (isMessagingError(error, "HISTORY_ENDED")) refused.add(device)
        if (error instanceof StoreFault) interrupted.add(device)
        if (!stopping.signal.aborted) throw error
      }),
    )
  }

  const isPaired = (device: SimulatedDevice): boolean =>
    pairings.some(({ from, to }) => device === from || device === to)

  /** Runs what is left, without interruptions. */
  async function finish(device: SimulatedDevice): Promise<boolean> {
    const { messenger } = device
    if (messenger === undefined || (await leftOf(messenger)).length === 0) return false
    const stopping = new AbortController()
    const cancel = schedule.after(peaceMs, () => stopping.abort())
    try {
      await runHistory(messenger, { signal: stopping.signal })
    } catch (error) {
      if (!isMessagingError(error, "HISTORY_REFUSED", "HISTORY_ENDED")) return true
      refused.add(device)
      for (const id of await leftOf(messenger)) await cancelHistory(messenger, id).catch(() => undefined)
    } finally {
      cancel()
    }
    return true
  }

  return {
    async act() {
      const [isNew, device, progress] = [random.chance(0.1), random.pick(cast.devices), 1 + random.below(4)]
      if (isNew) return pair()
      if (random.chance(0.5) && isPaired(device)) await goOn(device, runMs, progress)
    },
    async settle() {
      for (let round = 0; round < rounds; round++) {
        const moved = await Promise.all(cast.devices.filter(isPaired).map(finish))
        if (!moved.includes(true)) return
      }
    },
    async violations() {
      const found: string[] = []
      for (const { transferId, from, to, seen, requestedAtMs, scannedAtMs, expiresAtMs } of pairings) {
        if (to.messenger === undefined || (await isOut(cast, from)) || (await isOut(cast, to))) continue
        // Its transfer is unknown to it, or continues at an earlier chunk.
        if (hasForgotten(cast, to, requestedAtMs) || hasForgotten(cast, from, scannedAtMs)) continue
        if ((await leftOf(to.messenger)).includes(transferId)) found.push(`the history of ${to.name} does not end`)
        else if (interrupted.has(to) && expiresAtMs <= schedule.nowMs()) continue
        // A season is longer than a transfer may last.
        else if (!refused.has(to)) found.push(...(await lacksOf(cast, to, seen)))
        else if (!cast.features.has("renewal")) found.push(`the history of ${to.name} is refused`)
      }
      return [...found, ...wrong]
    },
  }
}

const leftOf = (messenger: Messenger): Promise<string[]> => transferIds(contextOf(messenger))

/** True for a device that was lost or revoked: a transfer from it, or to it, ends. */
async function isOut({ service }: Cast, { messenger }: SimulatedDevice): Promise<boolean> {
  const id = messenger && parseId("dev", messenger.deviceId)
  return id === undefined || (await service.deps.store.devices.find(id))?.status === "REVOKED"
}
