import { maxCount } from "@signet/kernel/messaging/limits"
import type { Conversation } from "@signet/kernel/messaging/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { conversationSuite } from "../../../../test/support/messaging-store/conversations.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { run } from "../sql.ts"
import { creatorOf, newAudit, newConversation, putGroup, putUser } from "./testing/world.ts"

describeOnEachStore("conversations", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  conversationSuite(
    () => opened.messaging,
    (_, nowMs, limit) => opened.messaging.conversations.prune(nowMs, limit),
  )

  test("are limited per user", async () => {
    const [one] = (await putUser(opened.messaging)).devices
    const [other] = (await putUser(opened.messaging)).devices
    if (one === undefined || other === undefined) throw new Error("no devices")
    const create = (conversation: Conversation, by = creatorOf(one.id)) =>
      opened.messaging.conversations.create(conversation, by, newAudit())
    await run(opened.db, "insert into conversation_asked (conversation_id, user_id) select $1, $2", [
      (await putGroup(opened.messaging, [other])).id,
      one.userId,
    ])
    const many = `insert into conversation (id, app_id, tenant_id, mls_group_id, kind, status, creator_user_id, user_ids,
        creator_device_id, creator_key, request_hash, epoch, head_seq, first_seq, head_at, directives, fork_reports,
        max_leaves, created_at)
      select 'many' || i, app_id, tenant_id, decode(lpad(to_hex(i), 64, '0'), 'hex'), kind, status, creator_user_id,
        user_ids, creator_device_id, decode(lpad(to_hex(i), 32, '0'), 'hex'), request_hash, 0, 0, 1, head_at, '[]', '[]',
        max_leaves, created_at
      from conversation, generate_series(1, $2::integer - 1) i where id = (
        select conversation_id from conversation_asked where user_id = $1)`
    await run(opened.db, many, [one.userId, maxCount.conversationsPerUser])
    const asked =
      "insert into conversation_asked select id, $1 from conversation where id like 'many%' and id <> 'many1'"
    await run(opened.db, asked, [one.userId])
    const last = newConversation([one.userId])
    expect((await create(last)).is).toBe("created")
    expect(await create(newConversation([one.userId]))).toEqual({ is: "full" })
    expect((await create(newConversation([other.userId]), creatorOf(other.id))).is).toBe("created")
  })
})
