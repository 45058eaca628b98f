// The conformance cases of archives, without a server: also the mutants of the guards run here.
import { afterAll, beforeAll, expect, test } from "vitest"
import { cases } from "../../../../test/conformance/cases/archives.ts"
import { sceneOf } from "../../../../test/conformance/scene.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world?.close())

test.each(cases.map((one) => [one.sentence, one] as const))("%s", async (_, { run }) => {
  await run(sceneOf({ baseUrl: "", newUser: world.newUser }, "in-process", world.transport))
  expect(world.faults).toEqual([])
})
