import { randomBytes } from "node:crypto"
import { decode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import { parseId } from "@signet/kernel/ids"
import { DeviceListBodyV1Schema } from "@signet/proto/credential/v1/device_list"
import { afterAll, beforeAll, expect, test } from "vitest"
import { newLeafKey } from "../../../../test/support/messaging/device-parts.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"
import { requesterEvidence } from "./requester-evidence.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world.close())

const stored = async (id: string) =>
  (await world.deps.store.devices.find(parseId("dev", id) ?? expect.fail("no id"))) ?? expect.fail("no device")

test("the newest credential proves a leaf; an older one is proved by the list that named it for this device", async () => {
  const user = await world.newUser()
  const [phone, laptop] = [
    await world.newDevice({ of: user, packages: 0 }),
    await world.newDevice({ of: user, packages: 0 }),
  ]
  const former = []
  for (let renewals = 0; renewals < 2; renewals++) {
    former.push((await stored(phone.id)).credentialHash)
    await phone.renew(newLeafKey())
  }
  const now = await stored(phone.id)
  expect(await requesterEvidence(world.deps, now, now.credentialHash)).toEqual({
    is: "credential",
    bytes: now.credential,
  })
  for (const credentialHash of former) {
    const { is, bytes } = await requesterEvidence(world.deps, now, credentialHash)
    expect(is).toBe("list")
    const { entries } = decode(DeviceListBodyV1Schema, parseSigned(DeviceListBodyV1Schema, bytes).body)
    expect(entries.map((entry) => entry.credentialHash)).toContainEqual(credentialHash)
  }
  const [first = expect.fail("not renewed")] = former
  const refused = { reason: "INTERNAL" }
  await expect(requesterEvidence(world.deps, await stored(laptop.id), first)).rejects.toMatchObject(refused)
  await expect(requesterEvidence(world.deps, now, new Uint8Array(randomBytes(32)))).rejects.toMatchObject(refused)
})
