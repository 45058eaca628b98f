import { create } from "@bufbuild/protobuf"
import { ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { ConversationKind, type Welcome, WelcomeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import type { Joined } from "../mls.ts"
import type { Held } from "../state/held.ts"
import { keyOfSeq } from "../state/timeline.ts"
import { openMemoryStore } from "../store/memory.ts"
import { checkOnward } from "./welcome-order.ts"

const mlsGroupId = new Uint8Array(32).fill(7)
const conversationId = "cnv_00000000000000000000000000"
const record = create(ConversationRecordSchema, { mlsGroupId, joinedSeq: 5n })
const removed: Held = { record, seat: undefined, staged: undefined }
const joined = { members: [] } as Pick<Joined, "members">
const next: Pick<Welcome, "conversationId" | "mlsGroupId" | "commitSeq" | "conversationKind"> = {
  conversationId,
  mlsGroupId,
  commitSeq: 12n,
  conversationKind: ConversationKind.GROUP,
}

test.each<[string, Partial<typeof next>]>([
  ["a place where the device was let in before", { commitSeq: 5n }],
  ["a place before that where it was removed", { commitSeq: 11n }],
  ["a direct conversation by the name of a group", { conversationKind: ConversationKind.DIRECT }],
  ["another group by the name of the conversation", { mlsGroupId: new Uint8Array(32) }],
])("a welcome to %s is refused", async (_, change) => {
  const store = openMemoryStore()
  const entry = { op: "put", table: "timeline", key: keyOfSeq(11n), value: new Uint8Array(1) } as const
  await store.transact(conversationId, 0n, [entry])
  await checkOnward({ store }, create(WelcomeSchema, next), removed, joined)
  const back = checkOnward({ store }, create(WelcomeSchema, { ...next, ...change }), removed, joined)
  await expect(back).rejects.toMatchObject({ reason: "WELCOME_REFUSED" })
})

test("a welcome of the place of a reset leads into the group that the log showed", async () => {
  const reset = create(ConversationRecordSchema, { ...record, isDirect: true, resetSeq: 12n, joinedSeq: 11n })
  const held: Held = { record: reset, seat: undefined, staged: undefined }
  const direct = { ...next, conversationKind: ConversationKind.DIRECT }
  const check = (change: Partial<typeof next>) =>
    checkOnward({ store: openMemoryStore() }, create(WelcomeSchema, { ...direct, ...change }), held, joined)
  await check({})
  const other = new Uint8Array(32).fill(8)
  await expect(check({ mlsGroupId: other })).rejects.toMatchObject({ reason: "WELCOME_REFUSED" })
  // Beyond that place the group was reset once more.
  await check({ mlsGroupId: other, commitSeq: 13n })
})
