// The conformance cases of blocked users, without a server: also the mutants of the guards run here.
import { afterAll, beforeAll, expect, test } from "vitest"
import { cases } from "../../../../test/conformance/cases/blocks.ts"
import { sceneOf } from "../../../../test/conformance/scene.ts"
import { sample } from "../../../../test/support/effort.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world?.close())

test.each(sample(3, cases).map((one) => [one.sentence, one] as const))("%s", async (_, { run }) => {
  await run(sceneOf({ baseUrl: "", newUser: world.newUser }, "in-process", world.transport))
  expect(world.faults).toEqual([])
})
