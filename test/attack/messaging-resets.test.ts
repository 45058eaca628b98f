// Resets of a direct conversation that are refused before they use up key packages.
import { parseId } from "@signet/kernel/ids"
import { defaultLimits } from "@signet/kernel/limits/policy"
import { rates } from "@signet/kernel/messaging/limits"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import { refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
beforeAll(async () => {
  const { messaging_reset } = defaultLimits.windows
  const unlimited = { limit: 1_000, seconds: 60 }
  const login = { ip: unlimited, device: unlimited }
  const windows = { ...defaultLimits.windows, login, messaging_reset }
  server = await startMessagingServer({ store: storyStore, limits: { ...defaultLimits, windows } })
})
afterAll(() => server?.close())

async function registered(session: SignedIn): Promise<TestDevice> {
  const device = await newDevice(server.transport, session)
  await device.register()
  await device.upload(40)
  return device
}

/** A direct conversation that neither device can follow, and a new device of each of its users. */
async function stranded(name: string) {
  const one = await registered(await server.person(`${name} one`))
  const two = await registered(await server.person(`${name} two`))
  const { id } = await one.createDirect(two.userId)
  await two.join()
  for (const each of [one, two]) await each.calls.conversations.requestRejoin({ conversationId: id })
  const fresh = await registered(await one.session.again())
  const peer = await registered(await two.session.again())
  const available = async () => (await one.calls.keyPackages.getInventory({})).inventory?.available
  return { id, one, two, fresh, peer, available }
}

/** Runs at an earlier time of the server, and after it advances the server by more than helpers have for their help. */
async function aMinuteEarlier<Made>(make: () => Promise<Made>): Promise<Made> {
  const [earlier, later] = [-35_000, 70_000]
  server.advance(earlier)
  const made = await make()
  server.advance(later)
  onTestFinished(() => server.advance(-earlier - later))
  return made
}

/** A direct conversation whose first device waits to be added again, and a second device that is online. */
async function waiting(name: string) {
  const one = await registered(await server.person(`${name} one`))
  const two = await registered(await server.person(`${name} two`))
  const room = await one.createDirect(two.userId)
  const [theirs] = await two.join()
  const { directive } = await one.calls.conversations.requestRejoin({ conversationId: room.id })
  return { one, two, id: room.id, theirs: theirs ?? expect.fail(), directive: directive ?? expect.fail() }
}

test.runIf(isLong)("a device that no member removes may reset after a minute, and not before", async () => {
  const { one, two, id } = await aMinuteEarlier(async () => {
    const made = await waiting("unhelped")
    expect(await refusal(made.one.authorizeReset(made.id))).toBe("FailedPrecondition RESET_NOT_NEEDED")
    return made
  })
  await two.calls.conversations.listMessages({ conversationId: id })
  expect((await one.authorizeReset(id)).proof.length).toBeGreaterThan(0)
})

test.runIf(isLong)("a device that a member has removed forces no reset by having no key package", async () => {
  const { one, two, id } = await aMinuteEarlier(async () => {
    const made = await waiting("helped")
    await made.one.calls.keyPackages.retireKeyPackages({})
    await made.two.carryOut(made.theirs, made.directive.id)
    return made
  })
  await two.calls.conversations.listMessages({ conversationId: id })
  expect(await refusal(one.authorizeReset(id))).toBe("FailedPrecondition RESET_NOT_NEEDED")
})

test.runIf(isLong)(
  "a user's resets of a conversation are limited, and do not count against the other user",
  async () => {
    const { id, fresh, peer, available } = await stranded("limited")
    for (let i = 0; i < rates.reset.limit; i++) await fresh.authorizeReset(id)
    const before = await available()
    expect(await refusal(fresh.authorizeReset(id))).toBe("ResourceExhausted RATE_LIMITED")
    expect(await available()).toBe(before)
    await peer.authorizeReset(id)
  },
)

test.runIf(isLong)("without a key package of the peer, a reset claims none of the caller's devices", async () => {
  const { id, two, fresh, peer, available } = await stranded("without packages")
  for (const each of [two, peer]) await each.calls.keyPackages.retireKeyPackages({})
  const before = await available()
  expect(await refusal(fresh.authorizeReset(id))).toBe("FailedPrecondition NO_KEY_PACKAGE")
  expect(await available()).toBe(before)
})

test.runIf(isLong).each(["SUSPENDED", "REMOVED"] as const)(
  "a reset with a peer whose membership is %s is refused",
  async (status) => {
    const { id, two, fresh, peer, available } = await stranded(status)
    // Whether the peer has key packages is not revealed.
    if (status === "REMOVED") for (const each of [two, peer]) await each.calls.keyPackages.retireKeyPackages({})
    const before = await available()
    await server.store.store.transaction(async (tx) => {
      const userId = parseId("prn", two.userId) ?? expect.fail()
      const [membership] = await tx.identities.findMemberships(userId, server.app.id)
      await tx.members.update({ ...(membership ?? expect.fail()), status })
    })
    expect(await refusal(fresh.authorizeReset(id))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await available()).toBe(before)
  },
)
