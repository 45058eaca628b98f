// The conformance cases of returned messages, without a server.
import { afterAll, beforeAll, expect, test } from "vitest"
import { cases } from "../../../../../test/conformance/cases/resubmitting.ts"
import { sceneOf } from "../../../../../test/conformance/scene.ts"
import { type MessagingWorld, openMessagingWorld } from "../../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world?.close())

test.each(cases.map((one) => [one.sentence, one] as const))("%s", async (_, { run }) => {
  await run(sceneOf({ baseUrl: "", newUser: world.newUser }, "in-process", world.transport))
  expect(world.faults).toEqual([])
})
