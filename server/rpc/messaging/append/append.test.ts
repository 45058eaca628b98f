import { afterAll, beforeAll, expect, test } from "vitest"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world.close())

test("two people talk, add a third, and remove them", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  const [bobs] = await bob.join()
  expect(bobs?.epoch).toBe(1n)
  await alice.send(room, "hello")
  if (bobs === undefined) throw new Error("bob has not joined")
  await bob.sync(bobs)
  expect(bobs.read.map(({ text }) => text)).toEqual(["hello"])
  const carol = await world.newDevice()
  await alice.sync(room)
  await alice.add(room, { userIds: [carol.userId] })
  await carol.join()
  await bob.sync(bobs)
  await bob.remove(bobs, { userIds: [carol.userId] })
  await alice.sync(room)
  await alice.update(room)
  await bob.sync(bobs)
  expect(bobs.epoch).toBe(4n)
  expect(world.faults).toEqual([])
})
