import { ConnectError } from "@connectrpc/connect"
import { defaultLimits } from "@signet/kernel/limits/policy"
import { createRefusalCache } from "@signet/kernel/limits/refusal-cache"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isLong } from "../../../../../test/support/effort.ts"
import { type MessagingWorld, openMessagingWorld } from "../../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
  Object.assign(world.deps, { limiter: { limits: defaultLimits, refused: createRefusalCache() } })
})
afterAll(() => world.close())

async function reasonOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return "taken"
  } catch (error) {
    return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason ?? String(error)
  }
}

test.runIf(isLong)("invalid commits count against the sender's limit, not the conversation's", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  world.advance(10_000)
  const bobs = bob.room(room.id)
  const { request } = await bob.stageUpdate(bobs)
  const { commit } = request.payload.value
  const value = {
    ...request.payload.value,
    commit: commit.map((byte, i) => (i === commit.length - 40 ? byte ^ 1 : byte)),
  }
  const bad = { ...request, payload: { case: "commit", value } } as const
  const refused = await Promise.all(Array.from({ length: 16 }, () => reasonOf(bob.append(bad))))
  expect(refused.filter((reason) => reason === "RATE_LIMITED").length).toBeGreaterThan(0)
  expect(refused.filter((reason) => reason === "GROUP_INFO_MISMATCH").length).toBeGreaterThanOrEqual(4)
  expect(refused).not.toContain("taken")
  expect(await reasonOf(alice.append(await alice.stageUpdate(room)))).toBe("taken")
})

test.runIf(isLong)(
  "each user resets a conversation ten times a day at most, counted apart from the other user",
  async () => {
    const [alice, bob] = [await world.newDevice(), await world.newDevice()]
    const { id } = await alice.createDirect(bob.userId)
    await bob.join()
    // Neither could add the other.
    for (const { calls } of [alice, bob]) await calls.conversations.requestRejoin({ conversationId: id })
    for (const device of [alice, bob]) await device.upload(1, { isLastResort: true })
    for (let n = 0; n < 10; n++) await bob.authorizeReset(id)
    const before = await alice.calls.keyPackages.getInventory({})
    expect(await reasonOf(bob.authorizeReset(id))).toBe("RATE_LIMITED")
    expect(await alice.calls.keyPackages.getInventory({})).toEqual(before)
    for (let n = 0; n < 10; n++) await alice.authorizeReset(id)
    expect(await reasonOf(alice.authorizeReset(id))).toBe("RATE_LIMITED")
  },
)
