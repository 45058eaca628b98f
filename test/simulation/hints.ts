// Streams of hints: devices that listen instead of asking, streams that are cut, and a service that begins anew.
import { addDevice, attempt, type Cast, writeIn } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import type { Seeded } from "./seeded.ts"
import type { Kept } from "./service/conversations.ts"

/** A hint that was lost is made up for when the stream ends with its token, if not before. */
const tokenMs = 600_000
/** Nothing was heard for so long: the stream is dead, and another is opened. What docs/reference/messaging.md promises. */
const deafMs = 60_000
/** To open another, to read what there is, and to write. */
const settlingMs = 15_000

/** The user's own devices let one in; if they do not, others do after ten seconds. */
const newDeviceMs = 30_000

export function playHints(cast: Cast, random: Seeded): Playing {
  const { network, schedule, service, streams, trace } = cast
  const doings: readonly (readonly [number, () => void])[] = [
    [5, () => random.pick(cast.devices).listen()],
    [1, () => random.pick(cast.devices).hearNoMore()],
    [2, () => cutOne("loudly")],
    [2, () => cutOne("silently")],
    [0.5, restart],
  ]
  function cutOne(how: "loudly" | "silently"): void {
    if (streams.size === 0) return
    const stream = random.pick([...streams])
    trace.push(`${stream.device} is cut off ${how}`)
    stream.cut(how)
  }
  function restart(): void {
    trace.push("the service begins anew")
    for (const stream of [...streams]) stream.cut("loudly")
    service.restart()
    network.isDown = true
    schedule.after(500 + random.below(2_500), () => {
      network.isDown = false
    })
  }
  return {
    async act() {
      const total = doings.reduce((sum, [weight]) => sum + weight, 0)
      let drawn = (random.below(1_000) / 1_000) * total * 3
      for (const [weight, doing] of doings) {
        drawn -= weight
        if (drawn < 0) return doing()
      }
    },
  }
}

/** Everybody comes back and listens; nobody asks. */
export async function settleByHints(cast: Cast): Promise<void> {
  const { devices, schedule } = cast
  for (const device of devices) {
    device.calm()
    if (device.messenger === undefined) await attempt(cast, device, "start", () => device.start())
    device.listen()
  }
  await schedule.wait(tokenMs + deafMs + settlingMs)
}

/** What is said in peace is heard by all who listen; also behind a stream that has gone deaf, or was cut. */
export async function hearInPeace(cast: Cast): Promise<void> {
  const { network, streams } = cast
  network.faults = { drops: 0, duplicates: 0.3 }
  await heardWithin(cast, settlingMs, "it was said")
  await letInWithin(cast, settlingMs)
  await newDevicesWithin(cast, newDeviceMs)
  for (const stream of [...streams]) stream.cut("silently")
  await heardWithin(cast, deafMs + settlingMs, "all streams went deaf")
  for (const stream of [...streams]) stream.cut("loudly")
  await heardWithin(cast, settlingMs, "all streams were cut")
  network.faults = { drops: 0, duplicates: 0 }
}

/** Whoever is let into a new conversation is in, and has read it. */
async function letInWithin(cast: Cast, ms: number): Promise<void> {
  const { bugs, devices, random, schedule, service, users } = cast
  const device = random.pick(devices)
  const others = users.filter((user) => user !== device.userId)
  let id: string | undefined
  await attempt(cast, device, "begins a new one", async () => {
    id = (await device.messenger?.createGroupConversation(others))?.id
  })
  await schedule.wait(ms)
  const { conversation } = [...service.conversations.all.values()].find((kept) => kept.conversation.id === id) ?? {}
  for (const { name, messenger } of id === undefined ? [] : devices) {
    if (!conversation?.roster.some(({ deviceId }) => deviceId === messenger?.deviceId)) continue
    const info = await messenger?.conversation(conversation.id)
    if (info?.status === "active" && info.processedSeq === conversation.headSeq) continue
    bugs.push(`${name} listens and is ${info?.status} at ${info?.processedSeq}, ${ms} ms after it was let in`)
  }
}

/** Two devices that one user gets, one soon after the other, are let in wherever the user is. */
async function newDevicesWithin(cast: Cast, ms: number): Promise<void> {
  const { bugs, random, schedule, service, users } = cast
  const user = random.pick(users)
  const places: Kept[] = []
  for (const kept of service.conversations.all.values()) {
    const { status, roster } = kept.conversation
    const isIn = status === "ACTIVE" && roster.some(({ userId }) => userId === user)
    if (isIn && (await activeIn(cast, kept)).length > 0) places.push(kept)
  }
  for (let i = 0; i < 2; i++) {
    const device = addDevice(cast, user)
    await attempt(cast, device, "start", () => device.start())
    device.listen()
    await schedule.wait(random.below(400))
  }
  await schedule.wait(ms)
  for (const { name, messenger } of cast.devices.slice(-2)) {
    for (const { conversation } of places) {
      const info = await messenger?.conversation(conversation.id)
      if (info?.status !== "active") bugs.push(`${name} is ${info?.status}, ${ms} ms after its user got it`)
    }
  }
}

async function heardWithin(cast: Cast, ms: number, since: string): Promise<void> {
  const { schedule, service, bugs } = cast
  const startMs = schedule.nowMs()
  const all = [...service.conversations.all.values()]
  for (const kept of all) {
    // At once: their hints overtake each other.
    const writers = (await activeIn(cast, kept)).slice(0, 3)
    await Promise.all(writers.map((device) => writeIn(cast, device, kept.conversation.id, {})))
  }
  await schedule.wait(startMs + ms - schedule.nowMs())
  for (const [i, kept] of all.entries()) {
    const { id, headSeq } = kept.conversation
    for (const { name, messenger } of await activeIn(cast, kept)) {
      const info = await messenger?.conversation(id)
      if (info?.processedSeq === headSeq) continue
      bugs.push(`${name} listens and is at ${info?.processedSeq} of ${headSeq} in ${i}, ${ms} ms after ${since}`)
    }
  }
}

/** Whoever is a member, here and there. One that was revoked is told nothing, also where nobody is left to remove it. */
async function activeIn({ devices, service }: Cast, { conversation }: Kept): Promise<SimulatedDevice[]> {
  const { id, roster, status } = conversation
  const found: SimulatedDevice[] = []
  for (const device of status === "ACTIVE" ? devices : []) {
    const { messenger } = device
    const leaf = roster.find(({ deviceId }) => deviceId === messenger?.deviceId)
    const own = leaf && (await service.deps.store.devices.find(leaf.deviceId))
    if (own?.status !== "ACTIVE") continue
    if ((await messenger?.conversation(id))?.status === "active") found.push(device)
  }
  return found
}
