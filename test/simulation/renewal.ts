// Years: days pass in which everybody sleeps, credentials come due and end, and the issuer's keys take over from each other.
import { equalBytes } from "@signet/canonical/bytes"
import { parseId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import { isOnTheWayOut } from "@signet/kernel/messaging/directive"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { type Cast, wake } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import { reasonOf } from "./reason-of.ts"
import type { Seeded } from "./seeded.ts"

const dayMs = 86_400_000
/** A credential is good for 400 days, and is renewed from the 300th on; a key set is good for 90. */
const stepDays = 50
const steps = [1, 2, 7, 9]

export function playRenewal(cast: Cast, random: Seeded): Playing {
  const { schedule, service, trace, devices, network } = cast
  let isPassing = false
  return {
    /** A season: who is at home comes by now and then, and may stop anywhere; who is away does not. */
    async act() {
      if (isPassing || !random.chance(0.05)) return
      isPassing = true
      const atHome = devices.filter(() => random.chance(0.7))
      const away = devices.filter((device) => !atHome.includes(device)).map(({ name }) => name)
      for (const name of away) network.parted.add(name)
      const count = random.pick(steps)
      trace.push(`${count * stepDays} days pass`)
      for (let i = 0; i < count; i++) {
        schedule.pass(stepDays * dayMs)
        const fresh = random.chance(0.3) ? random.fork(`issuer ${schedule.nowMs()}`) : undefined
        await service.issuer.signAnew(fresh)
        for (const device of atHome) {
          await wake({ ...cast, random }, device, random.chance(0.3) ? random.below(120) : undefined)
        }
      }
      for (const name of away) network.parted.delete(name)
      isPassing = false
    },
    async violations() {
      const found = await Promise.all(cast.devices.map((device) => outOfDate(cast, device)))
      return found.flat()
    },
  }
}

/** A device is never locked out, but by a copy from before its key: its credentials are valid, and new ones are in use. */
async function outOfDate(cast: Cast, { name, messenger }: SimulatedDevice): Promise<string[]> {
  const id = messenger && parseId("dev", messenger.deviceId)
  const own = id && (await cast.service.deps.store.devices.find(id))
  if (messenger === undefined || own === undefined || own.status === "REVOKED") return []
  if (cast.rewound.get(name)?.isKeyReplaced) return []
  const nowMs = cast.schedule.nowMs()
  const found = nowMs < own.expiresAtMs ? [] : [`${name} has a credential that has ended`]
  try {
    await messenger.devices()
  } catch (error) {
    found.push(`${name} has locked itself out: ${reasonOf(error)}`)
  }
  const former = cast.service.keyPackages
    .claimable(own.id, nowMs)
    .filter(({ credentialHash }) => !equalBytes(credentialHash, own.credentialHash))
  if (former.length > 0) found.push(`${former.length} key packages of a former credential let ${name} in still`)
  return [...found, ...(await formerLeaves(cast, name, messenger, own))]
}

/** Wherever it is in, it is so by its newest credential. */
async function formerLeaves(
  { service }: Cast,
  name: string,
  messenger: NonNullable<SimulatedDevice["messenger"]>,
  { id, credentialHash }: MessagingDevice,
): Promise<string[]> {
  const found: string[] = []
  for (const { conversation } of service.conversations.all.values()) {
    const leaf = conversation.roster.find(({ deviceId }) => deviceId === id)
    if (leaf === undefined || conversation.status !== "ACTIVE") continue
    if (isOnTheWayOut(conversation.directives, leaf) !== undefined) continue
    if ((await messenger.conversation(conversation.id))?.status !== "active") continue
    if (!equalBytes(leaf.credentialHash, credentialHash)) {
      found.push(`${name} is in by a former credential, ${hex(leaf.credentialHash).slice(0, 8)}`)
    }
  }
  return found
}
