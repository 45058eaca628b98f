import { afterAll, beforeAll, expect, test } from "vitest"
import { newDevice } from "../../../../test/support/messaging/device.ts"
import { newLeafKey } from "../../../../test/support/messaging/device-parts.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world.close())

test.each(["the first", "another"])("tabs that register at once are one device: %s of the user", async (which) => {
  const user = await world.newUser()
  if (which === "another") await world.newDevice({ of: user })
  const key = newLeafKey()
  const [tab, faster] = [await newDevice(world.transport, user), await newDevice(world.transport, user)]
  const { devices } = world.deps.store
  const { findByKey } = devices
  let isFirst = true
  Object.assign(devices, {
    async findByKey(wanted: Uint8Array) {
      if (isFirst) {
        isFirst = false
        await faster.register(key)
      }
      return findByKey(wanted)
    },
  })
  const device = await tab.register(key)
  Object.assign(devices, { findByKey })
  expect(device.id).toBe(faster.id)
  expect(world.faults).toEqual([])
})
