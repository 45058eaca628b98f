// The daily limit of credentials for a person's devices. A repeated request after a lost answer or a new sign-in does
// not count.
import { defaultLimits } from "@signet/kernel/limits/policy"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isFailure } from "../../clients/core/errors.ts"
import { refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { newDevice } from "../support/messaging/device.ts"
import { newLeafKey } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
beforeAll(async () => {
  const { messaging_register } = defaultLimits.windows
  const login = { ip: { limit: 1_000, seconds: 60 }, device: { limit: 1_000, seconds: 60 } }
  const windows = { ...defaultLimits.windows, login, messaging_register }
  server = await startMessagingServer({ store: storyStore, limits: { ...defaultLimits, windows } })
})
afterAll(() => server?.close())

async function registered(name: string) {
  const device = await newDevice(server.transport, await server.person(name))
  await device.register()
  return device
}

test.runIf(isLong)("a repeated request gets the same credential, and is not counted", async () => {
  const ann = await registered("ann")
  const { credential } = await ann.renew(newLeafKey())
  for (let i = 0; i < 12; i++) expect((await ann.renew()).credential).toEqual(credential)
  for (let i = 0; i < 12; i++) expect((await ann.register()).id).toBe(ann.id)
  const session = await ann.session.again()
  const again = await newDevice(server.transport, session)
  expect((await again.register(ann.key)).id).toBe(ann.id)
  // Eight more: two are already issued.
  for (let i = 0; i < 8; i++) await ann.renew(newLeafKey())
  expect(await refusal(ann.renew(newLeafKey()))).toBe("ResourceExhausted RATE_LIMITED")
  const another = await newDevice(server.transport, await ann.session.again())
  expect(await refusal(another.register())).toBe("ResourceExhausted RATE_LIMITED")
  // The device continues, and so does one that signs in again.
  await ann.renew()
  await again.register()
})

test.runIf(isLong)("a device with too many requests is refused, whatever their result", async () => {
  const ben = await registered("ben")
  const asked = await Promise.allSettled(Array.from({ length: 70 }, () => ben.renew()))
  const refused = asked.filter((one) => one.status === "rejected" && isFailure(one.reason, "RATE_LIMITED"))
  // The bucket refills by one a second in the meantime.
  expect(refused.length).toBeGreaterThan(0)
})
