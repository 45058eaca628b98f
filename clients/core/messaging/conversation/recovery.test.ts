import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  ConversationRecord_QuarantineSchema,
  ConversationRecordSchema,
  StagedCommitSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import {
  ConversationSchema,
  Directive_Status,
  DirectiveKind,
  Conversation_Status as ServiceStatus,
} from "@signet/proto/messaging/v1/records"
import { describe, expect, test } from "vitest"
import { alice, bob, bytes32, id } from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import { decideRecovery, isSameReceipt, type RecoveryEvent, type RecoveryStep } from "./recovery.ts"

const identity = await signedIdentity()
const alone = await engine.createGroup({ groupId: bytes32(1), identity, ...lifetime })
const bobs = await engine.newKeyPackage(await signedIdentity({ userId: bob, deviceId: id(0x69) }), lifetime)
const { next: group } = await engine.add(alone, [bobs.keyPackage], { aad: new Uint8Array() })
const ownKey = identity.signatureKey
const ownUserId = idOf("prn", alice)

const local: LocalGroup = {
  ...{ group, processedSeq: 6n, receipt: { hash: bytes32(2), acceptedAtMs: 1n } },
  ...{ leafRenewedAt: 5, identityKey: ownKey, treeHash: bytes32(3) },
}
type Fields = MessageInitShape<typeof ConversationRecordSchema>
const stateOf = (status: Status, more: Partial<StoredConversation> = {}, fields: Fields = {}): StoredConversation => ({
  ...{ record: create(ConversationRecordSchema, { ...fields, status }), local, staged: undefined },
  ...more,
})
const active = stateOf(Status.ACTIVE)
const waiting = stateOf(Status.WAITING)
const creating = stateOf(Status.CREATING)
const away = stateOf(Status.WAITING, { local: undefined })
const equivocated = stateOf(
  Status.QUARANTINED,
  {},
  {
    quarantine: create(ConversationRecord_QuarantineSchema, { reason: "RECEIPT_TOLD_DIFFERS" }),
  },
)
const intent = { table: "intent", key: "int_1" }
const message = { table: "outbox", key: "obx_1" }

type Summary = MessageInitShape<typeof ConversationSchema>
const level = { status: ServiceStatus.ACTIVE, headSeq: 6n, epoch: group.epoch, receiptHead: bytes32(2) }
const summary = (more: Summary = {}) => create(ConversationSchema, { ...level, ...more })
const event = (on: "shown" | "logRead", shown: Summary | undefined, key = ownKey): RecoveryEvent => ({
  ...{ on, ownUserId, ownKey: key, shown: shown && summary(shown) },
})
const shown = (more?: Summary) => event("shown", more ?? {})
const logRead = (more?: Summary, key?: Uint8Array) => event("logRead", more ?? {}, key)
const directive = { kind: DirectiveKind.LEAVE, status: Directive_Status.OPEN }
const ownLeave = { ...directive, userId: ownUserId }

type Row = readonly [string, StoredConversation, RecoveryEvent, readonly RecoveryStep[], Status?]
const idle: readonly RecoveryStep[] = ["renewOldLeaf"]
const lookingForHelp: readonly RecoveryStep[] = ["lookForHelp", "resetIfWanted", "flushIfActive"]
const farBehind = shown({ epoch: group.epoch + 5_001n, headSeq: 5_007n })

const rows: readonly Row[] = [
  ["a device at the head of the log is settled", active, shown(), idle],
  ["a device behind the head reads the log", active, shown({ headSeq: 7n }), ["readLog"]],
  ["a device that has read beyond the head reads again", active, shown({ headSeq: 5n }), [...idle, "checkLogEnd"]],
  [
    "a device in an epoch that the service has lost asks for it again",
    active,
    logRead({ epoch: group.epoch - 1n }),
    ["rejoinIfEpochLost", ...idle],
  ],
  ["a conversation that the service does not show is read", active, event("shown", undefined), ["readLog"]],
  ["a device without a group reads", away, shown(), ["readLog"]],
  ["a device far behind rejoins", active, shown({ epoch: group.epoch + 5_001n }), ["rejoin"]],
  ["a device at the limit reads the log", active, shown({ epoch: group.epoch + 5_000n, headSeq: 7n }), ["readLog"]],
  ...[waiting, stateOf(Status.STRANDED)].map(
    (state): Row => ["a waiting device far behind looks for help", state, farBehind, lookingForHelp],
  ),
  [
    "a restored state far behind rejoins",
    active,
    shown({ cursor: { processedSeq: 7n }, epoch: group.epoch + 5_001n, headSeq: 5_007n }),
    ["rejoin"],
    Status.ROLLED_BACK,
  ],
  ["a rolled back state far behind rejoins", stateOf(Status.ROLLED_BACK), farBehind, ["rejoin"]],
  ["an equivocation is reported from far behind", equivocated, farBehind, ["reportAndRejoin"]],
  ["another quarantine far behind waits for the app", stateOf(Status.QUARANTINED), farBehind, []],
  ["a creating device far behind reads the log", creating, farBehind, ["readLog"]],
  ["a leaving device far behind reads the log", stateOf(Status.LEAVING), farBehind, ["readLog"]],
  [
    "a restored state sends nothing and rejoins",
    active,
    shown({ cursor: { processedSeq: 7n } }),
    ["rejoin"],
    Status.ROLLED_BACK,
  ],
  [
    "a restored state reads first",
    active,
    shown({ cursor: { processedSeq: 7n }, headSeq: 7n }),
    ["readLog"],
    Status.ROLLED_BACK,
  ],
  ["a cursor of a device that creates is of an earlier group", creating, shown({ cursor: { processedSeq: 7n } }), idle],
  ["a rolled back state rejoins", stateOf(Status.ROLLED_BACK), logRead(), ["rejoin"]],
  ["a commit that the log lacks makes the device rejoin", active, logRead({ epoch: group.epoch + 1n }), ["rejoin"]],
  ["a commit beyond what was read does not", active, logRead({ epoch: group.epoch + 1n, headSeq: 7n }), idle],
  [
    "another receipt of this epoch is compared first",
    active,
    logRead({ receiptHead: bytes32(9) }),
    ["checkEquivocation", ...idle],
  ],
  ["an equivocation is reported, and the device rejoins", equivocated, logRead(), ["reportAndRejoin"]],
  ["another quarantine waits for the app", stateOf(Status.QUARANTINED), logRead({ directives: [directive] }), []],
  ["a device that waits looks for help", waiting, logRead(), lookingForHelp],
  ["without a summary it looks, too", waiting, event("logRead", undefined), lookingForHelp],
  [
    "a device that creates the group looks for nobody",
    stateOf(Status.WAITING, {}, { creationId: "int_1" }),
    event("logRead", undefined),
    ["resetIfWanted", "flushIfActive"],
  ],
  ["a stranded device does the same", stateOf(Status.STRANDED), logRead(), lookingForHelp],
  [
    "a closed conversation without other users is removed",
    stateOf(Status.LEAVING, { local: { ...local, group: alone } }),
    logRead({ status: ServiceStatus.CLOSED, epoch: 0n }),
    ["close"],
  ],
  [
    "with other users the service's word closes nothing",
    stateOf(Status.LEAVING),
    logRead({ status: ServiceStatus.CLOSED }),
    [],
  ],
  [
    "a closed conversation carries out no directive, and refuses what waits",
    stateOf(Status.ACTIVE, {}, { due: [intent, message] }),
    logRead({ status: ServiceStatus.CLOSED, directives: [directive] }),
    ["carryOutIntents", "flush"],
  ],
  ["in a closed conversation without work nothing is done", active, logRead({ status: ServiceStatus.CLOSED }), []],
  [
    "a device follows the leave of its user also in a closed conversation",
    stateOf(Status.ACTIVE, {}, { due: [message] }),
    logRead({ status: ServiceStatus.CLOSED, directives: [ownLeave] }),
    ["followLeave"],
  ],
  [
    "a device that is leaving sends nothing, and confirms a leave that the service does not show",
    stateOf(Status.LEAVING, {}, { due: [message] }),
    logRead(),
    ["confirmLeave"],
  ],
  [
    "a device that is leaving confirms nothing without a summary",
    stateOf(Status.LEAVING),
    event("logRead", undefined),
    [],
  ],
  ["a device without a group confirms no leave", stateOf(Status.LEAVING, { local: undefined }), logRead(), []],
  ["a device whose user has left sends nothing", active, logRead({ directives: [ownLeave] }), ["followLeave"]],
  [
    "a leaving device looks again while messages wait",
    stateOf(Status.LEAVING, {}, { due: [message] }),
    logRead({ directives: [ownLeave] }),
    ["followLeave"],
  ],
  [
    "a leaving device looks again while a requested change waits",
    stateOf(Status.LEAVING, {}, { due: [intent] }),
    logRead({ directives: [ownLeave] }),
    ["followLeave"],
  ],
  [
    "a device in quarantine follows no leave",
    stateOf(Status.QUARANTINED, {}, { due: [message] }),
    logRead({ directives: [ownLeave] }),
    [],
  ],
  ["a leaving device without messages waits", stateOf(Status.LEAVING), logRead({ directives: [ownLeave] }), []],
  [
    "a device without a group sends nothing",
    stateOf(Status.ACTIVE, { local: undefined }, { due: [message] }),
    logRead(),
    [],
  ],
  [
    "a stored change is committed",
    stateOf(Status.ACTIVE, {}, { due: [intent] }),
    logRead(),
    ["carryOutIntents", ...idle],
  ],
  [
    "a staged commit is sent",
    stateOf(Status.CREATING, { staged: create(StagedCommitSchema) }),
    logRead(),
    ["carryOutIntents", ...idle],
  ],
  [
    "directives are carried out, and then messages sent",
    stateOf(Status.ACTIVE, {}, { due: [message] }),
    logRead({ directives: [directive] }),
    ["carryOutDirectives", "flush", ...idle],
  ],
  [
    "directives are asked for if the service shows nothing",
    active,
    event("logRead", undefined),
    ["carryOutDirectives", ...idle],
  ],
  [
    "of a quarantined conversation only directives are carried out",
    stateOf(Status.ACTIVE, {}, { due: [intent, message] }),
    logRead({ status: ServiceStatus.QUARANTINED, directives: [directive] }),
    ["carryOutDirectives"],
  ],
  ["a leaf of a former credential is renewed", active, logRead({}, bytes32(8)), ["renewLeaf", ...idle]],
  [
    "but not beside another change",
    stateOf(Status.ACTIVE, {}, { due: [intent] }),
    logRead({}, bytes32(8)),
    ["carryOutIntents", ...idle],
  ],
  ["a pruned log makes the device rejoin", active, { on: "logRefused", reason: "LOG_PRUNED" }, ["rejoin"]],
  [
    "another device's first commit makes this one wait",
    creating,
    { on: "logRefused", reason: "RESOURCE_UNRESOLVED" },
    [],
    Status.WAITING,
  ],
]

describe("a decision about the next steps", () => {
  test.each(rows.map((row) => [row[0], row] as const))("%s", (_, [, before, of, steps, status]) => {
    const frozen = Object.freeze({ ...before })
    const { state, effects } = decideRecovery(frozen, of)
    expect(effects).toEqual(steps)
    expect(state.record?.status).toBe(status ?? before.record?.status)
    // A change is written unless the state is the same object.
    if (status === undefined) expect(state).toBe(frozen)
  })

  test("a device that another one replaced in its first commit drops its own group", () => {
    const { state } = decideRecovery(creating, { on: "logRefused", reason: "RESOURCE_UNRESOLVED" })
    expect(state).toMatchObject({ local: undefined, staged: undefined })
  })
})

const [own, other] = [
  { userId: ownUserId, deviceId: "dev_own" },
  { userId: "prn_bob", deviceId: "dev_bob" },
]
const rejoinOf = (userId: string, deviceId: string) => ({ kind: DirectiveKind.REJOIN, userId, deviceId })

test.each<[string, StoredConversation, Summary | undefined, "app" | "device" | undefined, Status]>([
  ["a member can add the device", active, { members: [own, other] }, "device", Status.WAITING],
  ["no other member is in", active, { members: [own] }, "device", Status.STRANDED],
  ["the service shows nothing", active, undefined, "device", Status.STRANDED],
  [
    "the other device waits, too",
    active,
    { members: [own, other], directives: [rejoinOf("prn_bob", "dev_bob")] },
    "device",
    Status.STRANDED,
  ],
  [
    "the other user is to be removed",
    active,
    { members: [own, other], directives: [rejoinOf("prn_bob", "")] },
    "device",
    Status.STRANDED,
  ],
  [
    "another device of the other user waits",
    active,
    { members: [own, other], directives: [rejoinOf("prn_bob", "dev_2")] },
    "device",
    Status.WAITING,
  ],
  [
    "the conversation is closed",
    waiting,
    { members: [own, other], status: ServiceStatus.CLOSED },
    undefined,
    Status.STRANDED,
  ],
  ["the user is no member any more", waiting, undefined, undefined, Status.STRANDED],
  ["a stranded device has a helper again", stateOf(Status.STRANDED), { members: [other] }, undefined, Status.WAITING],
  ["a device that is not waiting keeps its status", active, { members: [own] }, undefined, Status.ACTIVE],
])("after the members are read: %s", (_, before, members, askedBy, status) => {
  const of = { on: "membersShown", shown: members && summary(members), ownDeviceId: "dev_own", askedBy } as const
  const { state, effects } = decideRecovery(before, of)
  expect([state.record?.status, effects]).toEqual([status, []])
})

const helping = (status: Status, fields: Fields = {}) => stateOf(status, {}, { ...fields, commitsForOthers: true })

test.each<[string, StoredConversation, "app" | "device" | undefined, boolean]>([
  ["that the app asked for, in a group", active, "app", true],
  ["that the app asked for again", helping(Status.WAITING), "app", true],
  ["that is looked at later", helping(Status.STRANDED), undefined, true],
  ["that the device asked for", active, "device", false],
  ["that the device asks for as well", helping(Status.WAITING), "device", false],
  ["that the app asked for, in a direct conversation", stateOf(Status.ACTIVE, {}, { isDirect: true }), "app", false],
  ["that the app asked for after a quarantine", equivocated, "app", false],
  ["that the app asked for after a rollback", stateOf(Status.ROLLED_BACK), "app", false],
  ["of a device that waited before", waiting, "app", false],
])("a rejoin %s: commits for others", (_, before, askedBy, commits) => {
  const of = { on: "membersShown", shown: summary({ members: [other] }), ownDeviceId: "dev_own", askedBy } as const
  const { record } = decideRecovery(before, of).state
  expect([record?.status, record?.commitsForOthers]).toEqual([Status.WAITING, commits])
})

test.each<[string, StoredConversation, Summary, boolean]>([
  ["commits directives of others", helping(Status.WAITING), {}, true],
  ["does so where no other member is left", helping(Status.STRANDED), {}, true],
  ["commits nothing without an intact group", waiting, {}, false],
  ["commits nothing without a directive", helping(Status.WAITING), { directives: [] }, false],
  ["commits nothing in an earlier epoch", helping(Status.WAITING), { epoch: group.epoch + 1n }, false],
  ["commits nothing before the end of the log", helping(Status.WAITING), { headSeq: 7n }, false],
  ["commits nothing after another receipt", helping(Status.WAITING), { receiptHead: bytes32(9) }, false],
  ["commits nothing once its user leaves", helping(Status.WAITING), { directives: [ownLeave] }, false],
])("a device that waits with its group: %s", (_, state, more, commits) => {
  const { effects } = decideRecovery(state, logRead({ directives: [rejoinOf("prn_bob", "dev_bob")], ...more }))
  expect(effects.includes("carryOutDirectives")).toBe(commits)
})

test("a device that waits with its group commits nothing if its store was restored", () => {
  const { state, effects } = decideRecovery(helping(Status.WAITING), shown({ cursor: { processedSeq: 7n } }))
  expect([state.record?.status, effects]).toEqual([Status.ROLLED_BACK, ["rejoin"]])
  expect(state.record?.usedEpoch).toBe(group.epoch)
})

test("a receipt that one side does not name counts as equal", () => {
  const none = new Uint8Array()
  const sameAs = (head: Uint8Array, of: Uint8Array) => isSameReceipt(head, { receiptHead: of })
  expect([sameAs(none, bytes32(1)), sameAs(bytes32(1), none), sameAs(bytes32(1), bytes32(1))]).toEqual([
    true,
    true,
    true,
  ])
  expect(sameAs(bytes32(1), bytes32(2))).toBe(false)
})
