// A member leases the removal of a revoked device, commits nothing, and renews its lease without pause. The device is
// removed within the time that docs/reference/messaging.md states. In real time: the simulation has the interleavings.
import { Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { holdLease, msOf } from "../support/messaging/held-lease.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import type { Room } from "../support/messaging/room.ts"
import { watchedTransport } from "../support/messaging/watched-transport.ts"
import { storyStore } from "../support/postgres.ts"

/** What docs/reference/messaging.md states for a removal with one honest device online. */
const boundMs = 5_000
/** `directive_lease`: the part of the bound that a hostile member can use up. */
const leaseMs = 2_000
/**
 * The rest of the bound is a hint and the calls of one or two commits, so it depends on the machine: this process runs
 * every client, one of them without pause, beside other test files. A lease that is renewed has no end at all.
 */
const slackMs = 5_000

let server: Deployment
let messengers: Messengers
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 3 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)

interface Scene {
  readonly id: string
  /** Revokes the phone, and is offline afterwards. */
  readonly laptop: OpenedMessenger
  readonly phone: OpenedMessenger
  /** The honest device that is online. */
  readonly ben: OpenedMessenger
  /** Ben leases no directive before this resolves. */
  waitFor(held: Promise<unknown>): void
  readonly mallory: TestDevice
  readonly room: Room
  stop(): Promise<void>
}

async function scene(name: string): Promise<Scene> {
  const transport = watchedTransport(messengers.transport)
  const ben = await messengers.newcomer(`ben, ${name}`, { transport })
  const laptop = await messengers.newcomer(`ann, ${name}`)
  const phone = await messengers.open(await laptop.person.again())
  await phone.messenger.sync()
  const mallory = await newDevice(server.transport, await server.person(`mallory, ${name}`))
  await mallory.register()
  await mallory.upload(3)
  const { id } = await laptop.messenger.createGroupConversation([ben.person.userId, mallory.userId])
  await phone.messenger.sync()
  const room = (await mallory.join()).find((one) => one.id === id) ?? expect.fail("not added")
  const stopping = new AbortController()
  const running = ben.messenger.run(stopping.signal)
  await laptop.messenger.send(id, utf8("heard"))
  await expect.poll(() => textsIn(ben, id)).toEqual(["heard"])
  return {
    ...{ id, laptop, phone, ben, mallory, room },
    waitFor(held) {
      transport.before = async ({ method }) => {
        if (method === "LeaseDirective") await held
      }
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

test.runIf(isLong).each([
  ["renews it", async () => undefined],
  ["renews it and commits", async ({ mallory, room }: Scene) => mallory.update(room).catch(() => mallory.sync(room))],
])(
  "a revoked device is removed within 5 s though a member holds the lease, %s without pause",
  async (name, between) => {
    const all = await scene(name)
    const { id: conversationId, laptop, phone, ben, mallory } = all
    const { held, ended, leases } = holdLease(mallory, conversationId, () => between(all))
    all.waitFor(held)
    const revokedMs = Date.now()
    await laptop.messenger.revokeDevice(phone.messenger.deviceId)
    await laptop.messenger.close()
    await ended
    // No renewal extends the lease.
    expect(leases.length).toBeGreaterThan(1)
    expect(new Set(leases.map(({ expiresMs }) => expiresMs)).size).toBe(1)
    const [{ answeredMs, expiresMs } = expect.fail("no lease")] = leases
    expect(expiresMs - answeredMs).toBeLessThanOrEqual(leaseMs)
    const { envelopes } = await mallory.calls.conversations.listMessages({ conversationId, limit: 200 })
    const removal = envelopes.find(
      ({ kind, senderDeviceId }) => kind === Envelope_Kind.COMMIT && senderDeviceId === ben.messenger.deviceId,
    )
    expect(msOf(removal?.acceptedAt) - revokedMs).toBeLessThan(boundMs + slackMs)
    const { conversation } = await mallory.calls.conversations.getConversation({ conversationId })
    expect(conversation?.members.map(({ deviceId }) => deviceId)).not.toContain(phone.messenger.deviceId)
    await all.stop()
  },
)
