// The conformance cases of archives, without a server: also the mutants of the guards run here.
import { parseId } from "@signet/kernel/ids"
import { chunkKeys } from "@signet/kernel/messaging/archive"
import { Archive_Kind as Kind } from "@signet/proto/messaging/v1/archive_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { cases } from "../../../../test/conformance/cases/archives.ts"
import { sceneOf } from "../../../../test/conformance/scene.ts"
import { endDevicesOf } from "../device/end-user.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"
import { sweepArchives } from "./archive-service.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world?.close())

test.each(cases.map((one) => [one.sentence, one] as const))("%s", async (_, { run }) => {
  await run(sceneOf({ baseUrl: "", newUser: world.newUser }, "in-process", world.transport))
  expect(world.faults).toEqual([])
})

test("the archives of a user who was permanently removed are erased", async () => {
  const device = await world.newDevice({ packages: 0 })
  const { archives } = device.calls
  const archiveId = new Uint8Array(16).fill(7)
  await archives.createArchive({ archiveId, kind: Kind.BACKUP, header: Uint8Array.of(1) })
  await archives.appendChunk({ archiveId, index: 0, data: Uint8Array.of(1) })
  const { userId, ...place } =
    (await world.deps.store.devices.find(parseId("dev", device.id) ?? expect.fail())) ?? expect.fail()
  const stored = () => world.deps.store.archives.ofUser(userId, place)
  const [key = ""] = (await stored()).flatMap(chunkKeys)
  expect(await world.deps.blobs.get(key)).toEqual(Uint8Array.of(1))
  await endDevicesOf(world.deps, userId, place)
  await sweepArchives(world.deps)
  expect(await stored()).toEqual([])
  expect(await world.deps.blobs.get(key)).toBeUndefined()
})
