import { create } from "@bufbuild/protobuf"
import { type ConversationRecord, ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { ConversationKind, type Welcome } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { isMessagingError } from "../errors.ts"
import { checkWelcomeOrder, lastSeqBefore } from "./welcome-order.ts"

type Order = Pick<Welcome, "mlsGroupId" | "commitSeq" | "conversationKind">

const mlsGroupId = new Uint8Array(32).fill(7)
const record = create(ConversationRecordSchema, { mlsGroupId, joinedSeq: 5n })
const next: Order = { mlsGroupId, commitSeq: 12n, conversationKind: ConversationKind.GROUP }

/** Checks a welcome against a timeline that ends at a position, for a device that is not in. */
const check = (welcome: Order, stored: ConversationRecord, newestSeq: bigint) =>
  checkWelcomeOrder(
    welcome,
    { record: stored, processedSeq: undefined, hasLaterEntry: newestSeq > lastSeqBefore(welcome, stored) },
    [],
  )

const isRefused = (work: () => void): boolean => {
  try {
    work()
    return false
  } catch (error) {
    if (!isMessagingError(error, "WELCOME_REFUSED")) throw error
    return true
  }
}

test.each<[string, Partial<Order>]>([
  ["a place where the device was let in before", { commitSeq: 5n }],
  ["a place before that where it was removed", { commitSeq: 11n }],
  ["a direct conversation by the name of a group", { conversationKind: ConversationKind.DIRECT }],
  ["another group by the name of the conversation", { mlsGroupId: new Uint8Array(32) }],
])("a welcome to %s is refused", (_, change) => {
  check(next, record, 11n)
  expect(isRefused(() => check({ ...next, ...change }, record, 11n))).toBe(true)
})

test("a welcome of the place of a reset leads into the group that the log showed", () => {
  const reset = create(ConversationRecordSchema, { ...record, isDirect: true, resetSeq: 12n, joinedSeq: 11n })
  const direct = { ...next, conversationKind: ConversationKind.DIRECT }
  // The log has shown the reset, so the timeline has its entry at that place.
  check(direct, reset, 12n)
  const other = new Uint8Array(32).fill(8)
  expect(isRefused(() => check({ ...direct, mlsGroupId: other }, reset, 12n))).toBe(true)
  // Beyond that place the group was reset once more.
  check({ ...direct, mlsGroupId: other, commitSeq: 13n }, reset, 12n)
})
