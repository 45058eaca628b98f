import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Refused } from "@signet/kernel/errors"
import { idOf } from "@signet/kernel/ids"
import { chunkKeys } from "@signet/kernel/messaging/archive"
import { blobKey, partBytes } from "@signet/kernel/messaging/attachment"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../test/support/audit-log-deps.ts"
import { fastTmpdir } from "../../../test/support/fast-tmpdir.ts"
import { fillPlace, tenantAt } from "../../../test/support/messaging-store/full-place.ts"
import { openTestStore, storyStore, type TestStore } from "../../../test/support/postgres.ts"
import { openFsBlobs } from "../../blobs/fs.ts"
import { createMoving } from "../../store/postgres/messaging/moving/moving.ts"
import { newAudit, nowMs, random } from "../../store/postgres/messaging/testing/world.ts"
import { exportedPage, putBlobs } from "./page.ts"

const folder = mkdtempSync(join(fastTmpdir(), "signet-parts-"))
let opened: TestStore
beforeAll(async () => {
  opened = await openTestStore(storyStore)
})
afterAll(async () => {
  await opened?.close()
  rmSync(folder, { recursive: true })
})

test("a part is stored only if the attachment's record has it, with its size, at this place", async () => {
  const blobs = await openFsBlobs(folder, { nowMs })
  const moving = createMoving(opened.db, { audit: testAuditLogDeps() })
  const place = tenantAt(idOf("ten", random(16)))
  const { whole, begunFile } = await fillPlace(opened.messaging, place)
  const elsewhere = tenantAt(idOf("ten", random(16)))
  const bytesOf = (index: number) => random(partBytes(begunFile, index) ?? expect.unreachable())
  const part = (index: number, data: Uint8Array) =>
    ({ is: "attachmentPart", attachmentId: begunFile.id, index, data }) as const
  const refused = async (at: typeof place, one: ReturnType<typeof part>) => {
    await expect(putBlobs({ moving, blobs }, at, [one])).rejects.toThrow(Refused)
    expect(await blobs.get(blobKey(begunFile, one.index))).toBeUndefined()
  }
  await refused(place, part(0, bytesOf(0)))
  await refused(elsewhere, part(1, bytesOf(1)))
  await refused(place, part(1, bytesOf(1).subarray(1)))
  await refused(place, part(1, new Uint8Array([...bytesOf(1), 0])))
  const data = bytesOf(1)
  await putBlobs({ moving, blobs }, place, [part(1, data)])
  expect(await blobs.get(blobKey(begunFile, 1))).toEqual(data)
  expect(await blobs.get(blobKey(whole, 1))).toBeUndefined()
})

test("a chunk is stored only if the user's backup names it at this index, at this place", async () => {
  const blobs = await openFsBlobs(folder, { nowMs })
  const moving = createMoving(opened.db, { audit: testAuditLogDeps() })
  const place = tenantAt(idOf("ten", random(16)))
  const { backup, chunks, ana, bea } = await fillPlace(opened.messaging, place)
  const [first = expect.unreachable(), second = expect.unreachable()] = chunks
  const elsewhere = tenantAt(idOf("ten", random(16)))
  const chunk = (index: number, data: Uint8Array, userId = bea.userId) =>
    ({ is: "backupChunk", userId, index, data }) as const
  const keys = chunkKeys(backup)
  for (const [at, one] of [
    [elsewhere, chunk(0, first)],
    [place, chunk(0, first, ana.userId)],
    [place, chunk(1, first)],
    [place, chunk(2, second)],
    [place, chunk(0, random(first.length))],
  ] as const) {
    await expect(putBlobs({ moving, blobs }, at, [one])).rejects.toMatchObject({ reason: "INVALID_FIELD" })
    for (const key of keys) expect(await blobs.get(key)).toBeUndefined()
  }
  await putBlobs({ moving, blobs }, place, [chunk(1, second), chunk(0, first)])
  expect(await Promise.all(keys.map((key) => blobs.get(key)))).toEqual([first, second])

  const transferId = random(16)
  await moving.step({ place, transferId, step: "HOLD", nowMs, audit: newAudit("messaging_place.changed") })
  const found = await exportedPage({ moving, blobs }, { place, transferId, cursor: "chunks:" })
  expect(found).toEqual({ records: [chunk(0, first), chunk(1, second)], next: null })
  const rest = await exportedPage({ moving, blobs }, { place, transferId, cursor: `chunks:${bea.userId}/0/` })
  expect(rest).toEqual({ records: [chunk(1, second)], next: null })
})
