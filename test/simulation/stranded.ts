// How long a direct conversation stands still after a commit that no other device can process, if the device that made
// it is online and adds nobody. Apps do nothing but write.
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { AuthorizeMembershipRequestSchema } from "@signet/proto/messaging/v1/conversation_service"
import { closed, opened } from "../../clients/core/messaging/engine/state.ts"
import type { Engine } from "../../clients/core/messaging/mls.ts"
import { createDevice, type SimulatedDevice, type Stage } from "./device.ts"
import type { Answering } from "./network.ts"
import { createSchedule } from "./schedule.ts"
import { seeded } from "./seeded.ts"
import { openService } from "./service/service.ts"
import { createWitness } from "./watched.ts"

const startMs = 1_800_000_000_000
const longestMs = 600_000
const broken = "broken"

/** The broken device gets no proof for a directive. */
const withoutProofs: Answering = async (_, request, answer) => {
  const { change } = create(AuthorizeMembershipRequestSchema, request as object)
  if (change.case !== "carryOut") return answer
  throw new ConnectError("ignored", Code.Unavailable)
}

/** An engine whose updates are based on another secret than the group's. The service cannot see that. */
const bent = (engine: Engine): Engine => ({
  ...engine,
  update(state, options) {
    const inside = opened(state)
    const init = inside.epochSecrets.init.map((byte) => byte ^ 1)
    return engine.update(closed({ ...inside, epochSecrets: { ...inside.epochSecrets, init } }), options)
  },
})

interface Recovery {
  /** Simulated milliseconds between the commit and the first message that is read after it. */
  readonly tookMs: number
  /** The kinds of the timeline entries of both other devices after the last message before the commit. */
  readonly shown: readonly (readonly string[])[]
}

export async function recoveryAfterBadCommit(seed: number): Promise<Recovery> {
  const random = seeded(`stranded ${seed}`)
  const schedule = createSchedule(startMs)
  const service = await openService(random.fork("service"), schedule)
  const stage: Stage = {
    service,
    schedule,
    network: { faults: { drops: 0, duplicates: 0 }, parted: new Set() },
    streams: new Set(),
    watching: createWitness(),
    answering: (name) => async (method, request, answer) =>
      method === "AuthorizeMembership" && name === broken ? withoutProofs(method, request, answer) : answer,
    sent: () => undefined,
    failed: () => undefined,
    disk: (store) => store,
    features: new Set(),
    engineOf: (name, engine) => (name === broken ? bent(engine) : engine),
  }
  async function open(name: string, userId: ReturnType<typeof service.newUser>): Promise<SimulatedDevice> {
    const device = createDevice(stage, name, userId, service.signIn(userId), random.fork(name))
    await device.start()
    await device.messenger?.sync()
    return device
  }

  async function play(): Promise<Recovery> {
    const [ada, bob] = [service.newUser(), service.newUser()]
    const others = [await open("ada", ada), await open("bob", bob)] as const
    const bad = await open(broken, random.chance(0.5) ? ada : bob)
    const { id = "" } = (await others[0].messenger?.createDirectConversation(bob)) ?? {}
    const devices = [...others, bad]
    for (const device of devices) {
      await device.messenger?.sync()
      device.listen()
    }
    await others[0].messenger?.send(id, Uint8Array.of(1))
    await schedule.wait(random.below(30_000))
    const brokenMs = schedule.nowMs()
    await bad.messenger?.refreshKeys(id)
    await schedule.wait(random.below(5_000))
    const afterBy = async ({ messenger }: SimulatedDevice) => {
      const entries = (await messenger?.timeline(id)) ?? []
      return entries.slice(entries.findIndex(({ is }) => is === "message") + 1).map(({ is }) => is)
    }
    const isRead = async () => (await Promise.all(others.map(afterBy))).every((kinds) => kinds.includes("message"))
    const isActive = async () => (await others[1].messenger?.conversation(id))?.status === "active"
    // One side has written before it could know, or writes when it sees that the conversation continues.
    if (random.chance(0.5)) {
      while (!(await isActive()) && schedule.nowMs() < brokenMs + longestMs) await schedule.wait(100)
    }
    await others[1].messenger?.send(id, Uint8Array.of(2)).catch(() => undefined)
    while (!(await isRead()) && schedule.nowMs() < brokenMs + longestMs) await schedule.wait(100)
    const tookMs = schedule.nowMs() - brokenMs
    const shown = await Promise.all(others.map(afterBy))
    for (const device of devices) device.stop()
    return { tookMs, shown }
  }
  return schedule.until(play())
}
