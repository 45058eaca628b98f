import { afterAll, beforeAll, expect, test } from "vitest"
import { attachmentSuite, newAttachment } from "../../../../test/support/messaging-store/attachments.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newAudit, nowMs } from "./testing/world.ts"

describeOnEachStore("attachments", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())
  const store = () => opened.messaging.attachments

  attachmentSuite(() => opened.messaging)

  test("that are deleted or expired are due until their record is deleted", async () => {
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
