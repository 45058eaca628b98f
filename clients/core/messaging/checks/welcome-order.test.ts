import { create } from "@bufbuild/protobuf"
import { type ConversationRecord, ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { ConversationKind, type Welcome } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { alice, credentialBytes, id, leaf } from "../../../../proto/canonical/testing/world.ts"
import { isMessagingError } from "../errors.ts"
import { idOf } from "../ids.ts"
import { checkWelcomeOrder, lastSeqBefore, type ReadSoFar } from "./welcome-order.ts"

type Order = Pick<Welcome, "mlsGroupId" | "commitSeq" | "conversationKind">

const alices = { leaf: 0, credential: credentialBytes, signatureKey: leaf.publicKey }
const mlsGroupId = new Uint8Array(32).fill(7)
const record = create(ConversationRecordSchema, { mlsGroupId, joinedSeq: 5n })
const next: Order = { mlsGroupId, commitSeq: 12n, conversationKind: ConversationKind.GROUP }

/** Checks a welcome for a device that is no member, and whose timeline ends at `newestSeq`. */
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
  ["the position of an earlier join", { commitSeq: 5n }],
  ["a position before the removal", { commitSeq: 11n }],
  ["a direct conversation under the id of a group", { conversationKind: ConversationKind.DIRECT }],
  ["another group under the id of the conversation", { mlsGroupId: new Uint8Array(32) }],
])("a welcome to %s is refused", (_, change) => {
  check(next, record, 11n)
  expect(isRefused(() => check({ ...next, ...change }, record, 11n))).toBe(true)
})

test("a welcome at the position of a reset is for the group that the log showed", () => {
  const reset = create(ConversationRecordSchema, { ...record, isDirect: true, resetSeq: 12n, joinedSeq: 11n })
  const direct = { ...next, conversationKind: ConversationKind.DIRECT }
  // The log has shown the reset, so the timeline has an entry at its position.
  check(direct, reset, 12n)
  const other = new Uint8Array(32).fill(8)
  expect(isRefused(() => check({ ...direct, mlsGroupId: other }, reset, 12n))).toBe(true)
  // After that position, the group was reset again.
  check({ ...direct, mlsGroupId: other, commitSeq: 13n }, reset, 12n)
})

test.each<[string, Partial<ReadSoFar>, Partial<ConversationRecord>]>([
  ["that the device has processed", { processedSeq: 12n }, {}],
  ["of the device's own join, with an older processed position", { processedSeq: 3n }, { joinedSeq: 12n }],
  ["with a later entry in the timeline", { hasLaterEntry: true }, {}],
])("a welcome to a position %s is refused", (_, read, change) => {
  const order = (so: Partial<ReadSoFar>, stored: Partial<ConversationRecord>) =>
    checkWelcomeOrder(
      next,
      {
        processedSeq: 11n,
        hasLaterEntry: false,
        ...so,
        record: create(ConversationRecordSchema, { ...record, ...stored }),
      },
      [],
    )
  order({}, { joinedSeq: 11n })
  expect(isRefused(() => order(read, change))).toBe(true)
})

test("a welcome to a direct conversation is for its two users", () => {
  const users = [idOf("prn", alice), idOf("prn", id(0x5a))]
  const direct = create(ConversationRecordSchema, { ...record, isDirect: true, directUserIds: users })
  const order = { ...next, conversationKind: ConversationKind.DIRECT }
  const check = (stored: ConversationRecord) =>
    checkWelcomeOrder(order, { record: stored, processedSeq: 11n, hasLaterEntry: false }, [alices])
  check(direct)
  const others = create(ConversationRecordSchema, { ...direct, directUserIds: users.slice(1) })
  expect(() => check(others)).toThrow(expect.objectContaining({ reason: "THIRD_USER" }))
})
