import { idOf, newId } from "@signet/kernel/ids"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { freshId } from "../testing/people.ts"
import { newAudit, newDeviceId, nowMs, random } from "./testing/world.ts"

const newAttachment = (change: Partial<AttachmentRecord> = {}): AttachmentRecord => ({
  id: idOf("att", random(16)),
  conversationId: newId("cnv", nowMs, random(10)),
  ownerDeviceId: newDeviceId(),
  ownerUserId: freshId("prn"),
  status: "UPLOADING",
  size: 2_500,
  sha256: random(),
  partSize: 1_000,
  parts: [],
  idempotencyKey: random(16),
  createdAtMs: nowMs,
  expiresAtMs: nowMs + 1_000,
  ...change,
})

describeOnEachStore("attachments", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())
  const store = () => opened.messaging.attachments

  test("are made once a key", async () => {
    const record = newAttachment()
    expect(await store().create(record)).toEqual(record)
    const again = newAttachment({ ownerDeviceId: record.ownerDeviceId, idempotencyKey: record.idempotencyKey })
    expect(await store().create(again)).toEqual(record)
    expect(await store().find(again.id)).toBeUndefined()
    expect(await store().find(record.id)).toEqual(record)
  })

  test("are complete when every part is there, in any order, and stay so", async () => {
    const record = await store().create(newAttachment())
    const audit = newAudit("attachment.completed")
    for (const index of [2, 0, 2]) await store().addPart(record.id, index)
    expect(await store().complete(record.id, nowMs + 5_000, audit)).toMatchObject({
      status: "UPLOADING",
      parts: [0, 2],
    })
    expect(await store().addPart(record.id, 1)).toMatchObject({ parts: [0, 1, 2] })
    const complete = { status: "COMPLETE", expiresAtMs: nowMs + 5_000 }
    expect(await store().complete(record.id, nowMs + 5_000, audit)).toMatchObject(complete)
    expect(await store().complete(record.id, nowMs + 9_000, audit)).toMatchObject(complete)
    expect(await store().addPart(record.id, 3)).toMatchObject({ parts: [0, 1, 2] })
    expect(await store().addPart(newAttachment().id, 0)).toBeUndefined()
  })

  test("that are deleted or have had their time are due, until they are forgotten", async () => {
    const [deleted, expired, kept] = [newAttachment(), newAttachment(), newAttachment({ expiresAtMs: nowMs + 9_000 })]
    for (const record of [deleted, expired, kept]) await store().create(record)
    const audit = newAudit("attachment.deleted")
    await store().delete(deleted.id, audit)
    await store().delete(deleted.id, audit)
    const due = async (atMs: number) => (await store().due(atMs, 100)).map(({ id }) => id)
    expect(await due(nowMs)).toContain(deleted.id)
    expect(await due(nowMs)).not.toContain(expired.id)
    expect(await due(nowMs + 1_000)).toEqual(expect.arrayContaining([deleted.id, expired.id]))
    expect(await due(nowMs + 1_000)).not.toContain(kept.id)
    await store().forget(deleted.id)
    expect(await due(nowMs)).not.toContain(deleted.id)
    expect(await store().find(deleted.id)).toBeUndefined()
  })
})
