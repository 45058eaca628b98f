// Tests of attachments for every messaging store.
import { idOf, newId } from "@signet/kernel/ids"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import { expect, test } from "vitest"
import { newAudit, newDeviceId, nowMs, random } from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

export const newAttachment = (change: Partial<AttachmentRecord> = {}): AttachmentRecord => ({
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

export function attachmentSuite(messaging: () => MessagingStore): void {
  const store = () => messaging().attachments

  test("are created once for each idempotency key", async () => {
    const record = newAttachment()
    expect(await store().create(record)).toEqual(record)
    const again = newAttachment({ ownerDeviceId: record.ownerDeviceId, idempotencyKey: record.idempotencyKey })
    expect(await store().create(again)).toEqual(record)
    expect(await store().find(again.id)).toBeUndefined()
    expect(await store().find(record.id)).toEqual(record)
  })

  test("are complete once every part is stored, in any order, and stay complete", async () => {
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
}
