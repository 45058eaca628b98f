import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  ConversationRecordSchema,
  type StagedCommit,
  StagedCommitSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { ConversationSchema, Directive_Status, DirectiveKind } from "@signet/proto/messaging/v1/records"
import { describe, expect, test } from "vitest"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import type { DraftPart } from "./event.ts"
import { decideClose, decideLeave, decideStay, isLeaving } from "./leaving.ts"

const stateOf = (status: Status, processedSeq: bigint | undefined = 6n): StoredConversation => ({
  record: create(ConversationRecordSchema, { status }),
  local: processedSeq === undefined ? undefined : ({ processedSeq } as LocalGroup),
  staged: undefined,
})
const stateWithoutGroup = { ...stateOf(Status.ACTIVE), local: undefined }
const drop: DraftPart = { do: "dropPending" }

describe("a leave", () => {
  test.each<[string, StoredConversation, bigint, Status, readonly DraftPart[]]>([
    ["ends sending, and reports what waits", stateOf(Status.ACTIVE), 6n, Status.LEAVING, [drop]],
    ["reports nothing before the log is read", stateOf(Status.ACTIVE), 7n, Status.LEAVING, []],
    ["reports what waits once the log is read", stateOf(Status.LEAVING), 6n, Status.LEAVING, [drop]],
    ["changes nothing after the removal", stateOf(Status.REMOVED), 6n, Status.REMOVED, []],
    ["changes nothing while the device waits to be added", stateOf(Status.WAITING), 6n, Status.WAITING, []],
    ["changes nothing without a group", stateWithoutGroup, 6n, Status.ACTIVE, []],
    ["changes nothing for a device in quarantine", stateOf(Status.QUARANTINED), 6n, Status.QUARANTINED, []],
  ])("%s", (_, before, headSeq, status, effects) => {
    const decision = decideLeave(Object.freeze(before), headSeq)
    expect(decision.state.record?.status).toBe(status)
    expect(decision.effects).toEqual(effects)
  })

  const due = [{ table: "intent", key: "int_1" }]
  const withStaged = (intentId: string, processedSeq: bigint): StoredConversation => ({
    ...stateOf(Status.ACTIVE, processedSeq),
    record: create(ConversationRecordSchema, { status: Status.ACTIVE, due }),
    staged: create(StagedCommitSchema, { intentId }),
  })
  const isStaged = ({ state }: { state: { staged?: StagedCommit | undefined } }) => state.staged !== undefined

  test("drops the staged commit of a change that it reports, and no other one", () => {
    expect(isStaged(decideLeave(withStaged("int_1", 6n), 6n))).toBe(false)
    expect(isStaged(decideLeave(withStaged("int_1", 5n), 6n))).toBe(true)
    // The removal that a directive requests; another tab may be sending it.
    expect(isStaged(decideLeave(withStaged("directive", 6n), 6n))).toBe(true)
    expect(isStaged(decideClose(withStaged("directive", 6n)))).toBe(false)
  })

  test.each([
    [Status.ACTIVE, Status.REMOVED, [drop]],
    [Status.LEAVING, Status.REMOVED, [drop]],
    [Status.WAITING, Status.WAITING, []],
  ])("a closed conversation of status %s becomes %s", (status, after, effects) => {
    const decision = decideClose(stateOf(status))
    expect(decision.state.record?.status).toBe(after)
    expect(decision.effects).toEqual(effects)
  })
})

test.each([
  ["of another device", Status.LEAVING, false, Status.ACTIVE],
  ["of this device", Status.LEAVING, true, Status.LEAVING],
  ["that was carried out", Status.REMOVED, false, Status.REMOVED],
  ["of a device in quarantine", Status.QUARANTINED, false, Status.QUARANTINED],
])("after a lost leave %s the status %s (asked here: %s) becomes %s", (_, status, askedToLeave, after) => {
  const before = { ...stateOf(status), record: create(ConversationRecordSchema, { status, askedToLeave }) }
  const { state, effects } = decideStay(before)
  expect([state.record?.status, effects]).toEqual([after, []])
})

type Directive = NonNullable<MessageInitShape<typeof ConversationSchema>["directives"]>[number]
const own = { kind: DirectiveKind.LEAVE, status: Directive_Status.OPEN, userId: "prn_ann" }
test.each<[string, Directive, boolean]>([
  ["the user's leave", own, true],
  ["another user's leave", { ...own, userId: "prn_ben" }, false],
  ["a leave that was carried out", { ...own, status: Directive_Status.DONE }, false],
  ["a revocation", { ...own, kind: DirectiveKind.REVOCATION }, false],
  ["a rejoin", { ...own, kind: DirectiveKind.REJOIN }, false],
])("%s ends sending: %s", (_, directive, expected) => {
  expect(isLeaving(create(ConversationSchema, { directives: [directive] }), "prn_ann")).toBe(expected)
})
