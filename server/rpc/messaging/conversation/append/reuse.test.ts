import { ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isLong } from "../../../../../test/support/effort.ts"
import { newClaimId } from "../../../../../test/support/messaging/committing.ts"
import { type MessagingWorld, openMessagingWorld } from "../../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world.close())

async function reasonOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return "taken"
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema)
    return [info?.reason, info?.metadata.code].join(" ").trim()
  }
}

test.runIf(isLong)("a used key package cannot add its owner again", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const carol = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  const claimId = newClaimId()
  const subjects = { userIds: [carol.userId] }
  await alice.commit(await alice.stageChange(room, await alice.authorizeAdd(room, subjects, claimId)))
  await alice.remove(room, subjects)
  const again = await alice.stageChange(room, await alice.authorizeAdd(room, subjects, claimId))
  expect(await reasonOf(alice.append(again))).toBe("KEY_PACKAGE_NOT_CLAIMED KEY_PACKAGE_USED")
  await alice.add(room, subjects)
  await carol.join()
})

test.runIf(isLong)("a welcome to a leaf that was removed is void", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  const { welcomes } = await bob.calls.welcomes.listWelcomes({})
  const { directive } = await bob.calls.conversations.requestRejoin({ conversationId: room.id })
  const id = directive?.id ?? expect.fail("no directive")
  await alice.carryOut(room, id)
  expect((await bob.calls.welcomes.listWelcomes({})).welcomes).toEqual([])
  await alice.carryOut(room, id)
  const newer = await bob.calls.welcomes.listWelcomes({})
  expect(newer.welcomes.map(({ epoch }) => epoch)).toEqual([3n])
  expect(welcomes.map(({ epoch }) => epoch)).toEqual([1n])
  await bob.join()
})

test.runIf(isLong)("a last resort adds its owner again", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const carol = await world.newDevice({ packages: 0 })
  await carol.upload(1, { isLastResort: true })
  const room = await alice.createGroup([bob.userId])
  const subjects = { userIds: [carol.userId] }
  await alice.add(room, subjects)
  await alice.remove(room, subjects)
  await alice.add(room, subjects)
  expect(world.faults).toEqual([])
})
