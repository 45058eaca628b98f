import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  ConversationRecord_QuarantineSchema,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { describe, expect, test } from "vitest"
import { isMessagingError } from "../errors.ts"
import type { LocalGroup } from "../state/stored-conversation.ts"
import {
  commitsForOthers,
  groupToCarryOut,
  groupToCommit,
  groupToRead,
  groupToSend,
  hasUsedKey,
  isAway,
  isQueueing,
  isReading,
  rejoinsByItself,
  statusOf,
  withUsedKeys,
} from "./status.ts"

const group = { processedSeq: 1n } as LocalGroup
const quarantine = create(ConversationRecord_QuarantineSchema, { reason: "STATE_TAG_DIFFERS" })

/** Returns "yes", or the reason of the refusal. */
function outcome(work: () => LocalGroup): string {
  try {
    expect(work()).toBe(group)
    return "yes"
  } catch (error) {
    if (!isMessagingError(error)) throw error
    return error.reason
  }
}

const no = "CONVERSATION_NOT_ACTIVE"
const back = "STATE_ROLLBACK"

describe.each([
  // status, shown, reads, sends, commits, away, queues in a direct conversation, queues in a group
  [Status.STATUS_UNSPECIFIED, undefined, true, no, no, false, false, false],
  [Status.CREATING, "creating", true, no, "yes", false, true, true],
  [Status.ACTIVE, "active", true, "yes", "yes", false, false, false],
  [Status.QUARANTINED, "quarantined", true, no, no, false, true, false],
  [Status.ROLLED_BACK, "rolledBack", true, back, back, false, false, false],
  [Status.WAITING, "waiting", true, no, no, true, true, true],
  [Status.LEAVING, "leaving", true, no, no, false, false, false],
  [Status.REMOVED, "removed", false, no, no, false, false, false],
  [Status.STRANDED, "stranded", true, no, no, true, true, false],
])("status %s (%s)", (status, shown, reads, sends, commits, away, queuesDirect, queuesGroup) => {
  const record = create(ConversationRecordSchema, { status })
  const direct = create(ConversationRecordSchema, { status, isDirect: true })
  const quarantined = create(ConversationRecordSchema, { status, quarantine })

  test("with a group", () => {
    const stored = { record, local: group }
    expect(statusOf(record)).toBe(shown)
    expect(isReading(record)).toBe(reads)
    expect(outcome(() => groupToRead(stored))).toBe(reads ? "yes" : no)
    expect(outcome(() => groupToSend(stored))).toBe(sends)
    expect(outcome(() => groupToCommit(stored))).toBe(commits)
    expect(isAway(record)).toBe(away)
    expect(isQueueing(direct)).toBe(queuesDirect)
    expect(isQueueing(record)).toBe(queuesGroup)
  })

  test("a quarantine stops reading", () => {
    expect(isReading(quarantined)).toBe(false)
    expect(outcome(() => groupToRead({ record: quarantined, local: group }))).toBe(no)
  })

  test("without a group, the log is not read and messages are not sent", () => {
    const stored = { record, local: undefined }
    expect(outcome(() => groupToRead(stored))).toBe(no)
    expect(outcome(() => groupToSend(stored))).toBe(sends === back ? back : no)
    expect(outcome(() => groupToCommit(stored))).toBe(commits === back ? back : no)
  })
})

test("a conversation without a record is unknown", () => {
  const stored = { record: undefined, local: undefined }
  for (const work of [groupToRead, groupToSend, groupToCommit]) {
    expect(outcome(() => work(stored))).toBe("CONVERSATION_UNKNOWN")
  }
  expect([statusOf(undefined), isReading(undefined), isAway(undefined), isQueueing(undefined)]).toEqual([
    undefined,
    false,
    false,
    false,
  ])
})

test.each<[string, Parameters<typeof create<typeof ConversationRecordSchema>>[1], boolean]>([
  ["a restored state", { status: Status.ROLLED_BACK }, true],
  ["a quarantined direct conversation", { status: Status.QUARANTINED, isDirect: true, quarantine }, true],
  ["a quarantined group", { status: Status.QUARANTINED, quarantine }, false],
  [
    "a quarantined group of a service with two receipts",
    { status: Status.QUARANTINED, quarantine: { reason: "RECEIPT_TOLD_DIFFERS" } },
    true,
  ],
  ["an active direct conversation", { status: Status.ACTIVE, isDirect: true }, false],
])("%s rejoins without the app: %#", (_, fields, expected) => {
  expect(rejoinsByItself(create(ConversationRecordSchema, fields))).toBe(expected)
  expect(rejoinsByItself(undefined)).toBe(false)
})

test.each<[string, Status, MessageInitShape<typeof ConversationRecordSchema>, string]>([
  ["that waits", Status.WAITING, {}, "yes"],
  ["that is stranded", Status.STRANDED, {}, "yes"],
  ["without an intact group", Status.WAITING, { commitsForOthers: false }, no],
  ["with a quarantine", Status.WAITING, { quarantine }, no],
  ["that was rolled back", Status.ROLLED_BACK, {}, back],
  ["that was removed", Status.REMOVED, {}, no],
])("a device %s, and a directive about another", (_, status, fields, expected) => {
  const record = create(ConversationRecordSchema, { commitsForOthers: true, ...fields, status })
  expect(outcome(() => groupToCarryOut({ record, local: group }))).toBe(expected)
  expect(commitsForOthers(record)).toBe(expected === "yes")
  expect(outcome(() => groupToCommit({ record, local: group }))).not.toBe("yes")
})

test("a message has a used key in the marked epoch only, and only if it is encrypted", () => {
  const epochs = [0n, 3n, 4n]
  const used = (record: Parameters<typeof hasUsedKey>[0]) => epochs.map((epoch) => hasUsedKey(record, { epoch }))
  const record = create(ConversationRecordSchema, { status: Status.ACTIVE })
  expect(used(record)).toEqual([false, false, false])
  expect(used(undefined)).toEqual([false, false, false])
  expect(used(create(ConversationRecordSchema, { usedEpoch: 3n }))).toEqual([false, true, false])
  expect(withUsedKeys({ record, local: undefined, staged: undefined }).record).toBe(record)
})
