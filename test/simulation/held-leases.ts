// How long a removal takes while members delay it. One member device is honest. The others lease every directive and
// commit none, and send commits of their own without pause.
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { AuthorizeMembershipRequestSchema } from "@signet/proto/messaging/v1/conversation_service"
import { createDevice, type SimulatedDevice, type Stage } from "./device.ts"
import type { Answering } from "./network.ts"
import { createSchedule } from "./schedule.ts"
import { seeded } from "./seeded.ts"
import { openService } from "./service/service.ts"
import { createWitness } from "./watched.ts"

const startMs = 1_800_000_000_000
const longestMs = 120_000

/** A hostile device uses no proof for a directive. */
const withoutProofs: Answering = async (_, request, answer) => {
  const { change } = create(AuthorizeMembershipRequestSchema, request as object)
  if (change.case !== "carryOut") return answer
  throw new ConnectError("ignored", Code.Unavailable)
}

/** @returns Milliseconds of simulated time between the revocation of a device and the commit that removes it. */
export async function removalMs({ seed, hostile }: { readonly seed: number; readonly hostile: number }) {
  const random = seeded(`held leases ${seed}`)
  const schedule = createSchedule(startMs)
  const service = await openService(random.fork("service"), schedule)
  const hostileNames = new Set<string>()
  const stage: Stage = {
    service,
    schedule,
    network: { faults: { drops: 0, duplicates: 0 }, parted: new Set() },
    streams: new Set(),
    watching: createWitness(),
    answering: (name) => async (method, request, answer) =>
      method === "AuthorizeMembership" && hostileNames.has(name) ? withoutProofs(method, request, answer) : answer,
    sent: () => undefined,
    failed: () => undefined,
    disk: (store) => store,
    features: new Set(),
  }
  const devices: SimulatedDevice[] = []
  async function open(userId: ReturnType<typeof service.newUser>): Promise<SimulatedDevice> {
    const name = `d${devices.length}`
    const device = createDevice(stage, name, userId, service.signIn(userId), random.fork(name))
    devices.push(device)
    await device.start()
    await device.messenger?.sync()
    return device
  }

  async function play(): Promise<number> {
    const revoker = service.newUser()
    const honest = await open(service.newUser())
    const first = await open(revoker)
    const second = await open(revoker)
    const others: SimulatedDevice[] = []
    for (let i = 0; i < hostile; i++) others.push(await open(service.newUser()))
    const users = [revoker, ...others.map(({ userId }) => userId)]
    const group = await honest.messenger?.createGroupConversation(users)
    const id = group?.id ?? ""
    for (const device of devices) {
      await device.messenger?.sync()
      device.listen()
    }
    for (const { name } of others) hostileNames.add(name)
    const stateOf = () => {
      const found = [...service.conversations.all.values()].find((kept) => kept.conversation.id === id)
      if (found === undefined) throw new Error("there is no conversation")
      return found.conversation
    }
    const target = second.messenger?.deviceId
    const isIn = () => stateOf().roster.some(({ deviceId }) => deviceId === target)
    if (!isIn()) throw new Error("the device is no member")
    let isOver = false
    const busy = others.slice(0, 5).map(async ({ messenger }) => {
      while (!isOver) {
        await messenger?.refreshKeys(id).catch(() => undefined)
        await schedule.wait(50)
      }
    })
    await schedule.wait(random.below(1_000))
    const revokedMs = schedule.nowMs()
    await first.messenger?.revokeDevice(target ?? "")
    first.stop()
    while (isIn() && schedule.nowMs() < revokedMs + longestMs) await schedule.wait(10)
    const took = schedule.nowMs() - revokedMs
    isOver = true
    await Promise.all(busy)
    for (const device of devices) device.stop()
    return took
  }
  return schedule.until(play())
}
