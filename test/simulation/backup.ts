// Backups, and the drill: a user loses all devices, restores the newest backup from the service, and is admitted.
import type { PrincipalId } from "@signet/kernel/ids"
import { isOnTheWayOut } from "@signet/kernel/messaging/directive"
import { restoreBackup, storeBackup, storedBackup } from "../../clients/core/messaging/backup/index.ts"
import { formatRecoveryKey, recoveryKeyBytes } from "../../clients/core/messaging/backup/recovery-key.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import { addDevice, attempt, type Cast, hasForgotten, wake } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import { lacksOf, type Seen, seenBy } from "./moved-history.ts"
import type { Seeded } from "./seeded.ts"
import { leaves, watchWebCrypto } from "./web-crypto.ts"

interface Kept {
  /** The device that writes the user's backups. */
  readonly device: SimulatedDevice
  readonly recoveryKey: string
  /** What the device had before the last complete backup; undefined without one. */
  seen: Seen | undefined
}

interface Loss {
  readonly device: SimulatedDevice
  readonly kept: Kept
  readonly seen: Seen
  /** Everybody was online, and listened to hints. */
  readonly isInPeace: boolean
  /** Undefined until the device has restored the backup. */
  restoredAtMs: number | undefined
}

const tries = 10
const againMs = 5_000
/** Members admit a new device after ten seconds, if none of the user's own devices does. */
const admittedMs = 45_000
/** An online member removes a revoked device sooner. */
const revokedMs = 15_000

export function playBackup(cast: Cast, random: Seeded): Playing {
  const { schedule } = cast
  const wrong: string[] = []
  if (!cast.features.has("attachments")) watchWebCrypto(schedule, wrong)
  cast.service.hearParts.add(leaves)
  const kept = new Map<PrincipalId, Kept>()
  let loss: Loss | undefined
  let isExpired = false

  async function backUp(device: SimulatedDevice): Promise<void> {
    const user = cast.users.find((one) => one === device.userId)
    if (user === undefined) return
    const own = kept.get(user) ?? {
      ...{ device, seen: undefined },
      recoveryKey: formatRecoveryKey(random.bytes(recoveryKeyBytes)),
    }
    kept.set(user, own)
    const { messenger } = own.device
    const [stopMs, isStopped] = [random.below(600), random.chance(0.3)]
    if (messenger === undefined || loss?.kept === own) return
    const stopping = new AbortController()
    if (isStopped) schedule.after(stopMs, () => stopping.abort())
    await attempt(cast, own.device, "stores a backup", async () => {
      const seen = await seenBy(cast, messenger)
      const { signal } = stopping
      await storeBackup(messenger, { recoveryKey: own.recoveryKey, signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      if (!signal.aborted) own.seen = seen
    })
  }

  async function loseAll(isInPeace: boolean): Promise<void> {
    const all = [...kept].filter(([, { seen, device }]) => seen !== undefined && device.messenger !== undefined)
    // After a service that has turned, nobody may be left who can admit a device.
    if (loss !== undefined || all.length === 0 || !cast.isHonest) return
    const [user, own] = random.pick(all)
    for (const device of cast.devices) if (device.userId === user) device.lose()
    cast.trace.push(`${cast.users.indexOf(user)} loses all devices`)
    const device = addDevice(cast, user)
    loss = { device, kept: own, seen: own.seen ?? new Map(), isInPeace, restoredAtMs: undefined }
    await wake({ ...cast, random }, device)
  }

  const isRestored = ({ device, restoredAtMs }: Loss): boolean =>
    restoredAtMs !== undefined && !hasForgotten(cast, device, restoredAtMs)

  async function restore(lost: Loss): Promise<void> {
    const { messenger } = lost.device
    if (messenger === undefined || isRestored(lost)) return
    await attempt(cast, lost.device, "restores", async () => {
      await messenger.startAnew()
      try {
        await restoreBackup(messenger, storedBackup(messenger), { recoveryKey: lost.kept.recoveryKey })
        lost.restoredAtMs = schedule.nowMs()
      } catch (error) {
        // Seasons are longer than the service keeps a backup.
        isExpired = cast.features.has("renewal") && isMessagingError(error, "BACKUP_UNKNOWN")
        throw error
      }
    })
  }

  /** The user revokes each lost device: it can commit nothing, so a leave may wait for it. */
  async function revokeLost({ device }: Loss): Promise<void> {
    const isRunning = (id: string) => cast.devices.some(({ messenger }) => messenger?.deviceId === id)
    for (const { id, isRevoked } of (await device.messenger?.devices()) ?? []) {
      if (isRevoked || isRunning(id)) continue
      await attempt(cast, device, "revokes a lost device", async () => device.messenger?.revokeDevice(id))
    }
    await schedule.wait(revokedMs)
    if (cast.features.has("hints")) return
    for (const one of cast.devices) await attempt(cast, one, "sync", async () => one.messenger?.sync())
  }

  return {
    async act() {
      const [is, device] = [random.below(100), random.pick(cast.devices)]
      if (is < 15) return backUp(device)
      if (is < 20) return loseAll(false)
      if (is < 40 && loss !== undefined) await restore(loss)
    },
    async settle() {
      const hasHints = cast.features.has("hints")
      await loseAll(hasHints)
      if (hasHints) loss?.device.listen()
      for (let i = 0; i < tries && loss !== undefined && !isRestored(loss); i++) {
        await restore(loss)
        await schedule.wait(againMs)
      }
      if (loss?.isInPeace) {
        await schedule.wait(admittedMs)
        // Without a revocation.
        wrong.push(...(await notAdmitted(cast, loss.device)))
      }
      if (loss !== undefined) await revokeLost(loss)
    },
    async violations() {
      if (loss?.device.messenger === undefined || isExpired) return wrong
      const { name } = loss.device
      const found = isRestored(loss) ? await lacksOf(cast, loss.device, loss.seen) : [`${name} cannot restore`]
      if (loss.isInPeace) found.push(...(await notAdmitted(cast, loss.device)))
      return [...found, ...wrong]
    },
  }
}

/** Each conversation in which another user's device is active has admitted the new device. */
async function notAdmitted(cast: Cast, { name, userId, messenger }: SimulatedDevice): Promise<string[]> {
  const found: string[] = []
  for (const { conversation } of cast.service.conversations.all.values()) {
    const { id, roster, status, directives } = conversation
    const own = roster.filter((leaf) => leaf.userId === userId)
    const isLeaving = own.some((leaf) => isOnTheWayOut(directives, leaf) !== undefined)
    if (status !== "ACTIVE" || own.length === 0 || isLeaving) continue
    let isHelped = false
    for (const other of cast.devices) {
      const leaf = roster.find(({ deviceId }) => deviceId === other.messenger?.deviceId)
      if (leaf === undefined || leaf.userId === userId || isOnTheWayOut(directives, leaf) !== undefined) continue
      isHelped ||= (await other.messenger?.conversation(id))?.status === "active"
    }
    const isIn = own.some(({ deviceId }) => deviceId === messenger?.deviceId)
    if (isHelped && !isIn) found.push(`${name} is not admitted after its user lost all devices`)
  }
  return found
}
