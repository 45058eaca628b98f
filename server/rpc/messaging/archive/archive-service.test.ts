// The conformance cases of archives, without a server: also the mutants of the guards run here.

import { Code } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
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

/** A device with a backup of one chunk. */
async function writing(id: number) {
  const device = await world.newDevice({ packages: 0 })
  const { archives } = device.calls
  const archiveId = new Uint8Array(16).fill(id)
  await archives.createArchive({ archiveId, kind: Kind.BACKUP, header: Uint8Array.of(1) })
  const append = () => archives.appendChunk({ archiveId, index: 0, data: Uint8Array.of(id) })
  const { userId, ...place } =
    (await world.deps.store.devices.find(parseId("dev", device.id) ?? expect.fail())) ?? expect.fail()
  const stored = () => world.deps.store.archives.ofUser(userId, place)
  return { archives, archiveId, append, stored }
}

test("a call that ends while it stores a chunk leaves no bytes after the archive", async () => {
  const { archives, archiveId, append, stored } = await writing(8)
  const { blobs } = world.deps
  const { put } = blobs
  const keys: string[] = []
  blobs.put = async (key, bytes) => {
    keys.push(key)
    await put(key, bytes)
    throw new Refused("UNAVAILABLE")
  }
  await expect(append()).rejects.toMatchObject({ code: Code.Unavailable })
  blobs.put = put
  const [key = ""] = keys
  expect(await blobs.get(key)).toBeDefined()
  await archives.deleteArchive({ archiveId })
  expect(await stored()).toEqual([])
  expect(await blobs.get(key)).toBeUndefined()
})

test("the deletion of an unknown archive is no error, and one that failed is", async () => {
  const { archives, archiveId } = await writing(11)
  await archives.deleteArchive({ archiveId: new Uint8Array(16).fill(12) })
  const stored = world.deps.store.archives
  const { change } = stored
  Object.assign(stored, { change: () => Promise.reject(new Refused("PLACE_HELD")) })
  await expect(archives.deleteArchive({ archiveId })).rejects.toMatchObject({ code: Code.Unavailable })
  Object.assign(stored, { change })
  expect((await archives.listArchives({})).archives).toHaveLength(1)
})

test("a chunk that cannot be erased stops the erasure of no other archive", async () => {
  const all = [await writing(9), await writing(10)]
  for (const { append, archives, archiveId } of all) {
    await append()
    await archives.completeArchive({ archiveId })
  }
  const { blobs, store } = world.deps
  const gone = await Promise.all(
    all.map(async ({ stored }) => (await stored()).map((archive) => ({ ...archive, status: "DELETED" as const }))),
  )
  const { delete: erase } = blobs
  const { due } = store.archives
  const [bad = ""] = gone[0]?.flatMap(chunkKeys) ?? []
  const [good = ""] = gone[1]?.flatMap(chunkKeys) ?? []
  const device = await world.newDevice({ packages: 0 })
  const { userId, ...place } = (await store.devices.find(parseId("dev", device.id) ?? expect.fail())) ?? expect.fail()
  store.archives.due = async () => gone.flat().map((archive) => ({ userId, place, archive }))
  blobs.delete = (key) => (key === bad ? Promise.reject(new Refused("UNAVAILABLE")) : erase(key))
  await expect(sweepArchives(world.deps)).rejects.toMatchObject({ reason: "UNAVAILABLE" })
  Object.assign(blobs, { delete: erase })
  Object.assign(store.archives, { due })
  expect(await blobs.get(bad)).toBeDefined()
  expect(await blobs.get(good)).toBeUndefined()
})
