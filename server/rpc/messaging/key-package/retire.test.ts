import { afterAll, beforeAll, expect, test } from "vitest"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world.close())

test("a device retires the key packages that it names, or all of its own", async () => {
  const [alice, bob] = [await world.newDevice({ packages: 3 }), await world.newDevice({ packages: 2 })]
  const { keyPackages } = alice.calls
  const unknown = await keyPackages.retireKeyPackages({ keyPackageRefs: [new Uint8Array(32)] })
  expect(unknown.inventory?.available).toBe(3)
  const all = await keyPackages.retireKeyPackages({})
  expect(all.inventory?.available).toBe(0)
  expect((await bob.calls.keyPackages.getInventory({})).inventory?.available).toBe(2)
})
