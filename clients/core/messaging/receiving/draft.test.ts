import { create } from "@bufbuild/protobuf"
import { ConversationRecord_DueSchema, ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import { scripted } from "../testing/scripted.ts"
import { openDraft, perform } from "./draft.ts"

test("the end of a membership drops queued messages, with those that the draft changes", async () => {
  const { conversation } = await scripted()
  const due = [
    ["outbox", "changed"],
    ["outbox", "removed"],
    ["outbox", "untouched"],
    ["intent", "removed"],
    ["intent", "asked"],
  ].map(([table, key]) => create(ConversationRecord_DueSchema, { table, key, generation: 1n }))
  const draft = openDraft(conversation, {
    ...(await conversation.stored()),
    record: create(ConversationRecordSchema, { due }),
  })
  await perform(conversation, draft, {
    do: "changePending",
    change: { table: "outbox", key: "changed", bytes: Uint8Array.of(1) },
  })
  await perform(conversation, draft, { do: "changePending", change: { table: "outbox", key: "removed" } })
  await perform(conversation, draft, { do: "changePending", change: { table: "intent", key: "removed" } })
  await perform(conversation, draft, { do: "dropPending" })
  expect(draft.warnings).toMatchObject([
    { is: "unsent", outboxId: "changed", error: { reason: "CONVERSATION_NOT_ACTIVE" } },
    { is: "unsent", outboxId: "untouched", error: { reason: "CONVERSATION_NOT_ACTIVE" } },
    { is: "failed", conversationId: conversation.id, error: { reason: "CONVERSATION_NOT_ACTIVE" } },
  ])
  expect(draft.due.slice(3)).toEqual([
    { table: "outbox", key: "changed" },
    { table: "outbox", key: "untouched" },
    { table: "intent", key: "asked" },
  ])
})
