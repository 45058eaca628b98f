import { create } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { CanonicalError } from "@signet/canonical/errors"
import { hash } from "@signet/canonical/hash"
import {
  ConversationRecord_QuarantineSchema,
  ConversationRecordSchema,
  StagedCommitSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { describe, expect, test } from "vitest"
import { Forked, type Verdict } from "../checks/verdict.ts"
import { isMessagingError } from "../errors.ts"
import type { TimelineEntry } from "../events.ts"
import { type GroupState, MlsError } from "../mls.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { decideEnvelope } from "./envelope.ts"
import type { Arrival, CommitOutcome, DraftEffect, EnvelopeEvent } from "./event.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const groupOf = (epoch: bigint) => ({ epoch, groupId: bytes(`group of ${epoch}`) }) as GroupState
const [group, nextGroup] = [groupOf(3n), groupOf(4n)]
const ann = { userId: "prn_ann", deviceId: "dev_ann" }
const ben = { userId: "prn_ben", deviceId: "dev_ben" }
const wipe = () => {}
const atMs = 1_700_000_000_000

const local = {
  group,
  processedSeq: 6n,
  receipt: { hash: bytes("receipt"), acceptedAtMs: 1n },
  leafRenewedAt: 5,
  identityKey: bytes("key"),
  treeHash: bytes("tree"),
} satisfies LocalGroup
const staged = create(StagedCommitSchema, {
  commitHash: hash("commit", bytes("ours")),
  intentId: "int_1",
  nextIdentityKey: bytes("next key"),
  renewsLeaf: true,
})
const recordOf = (status: Status) => create(ConversationRecordSchema, { status, joinedSeq: 2n, isDirect: true })
const stateOf = (status: Status, more: Partial<StoredConversation> = {}): StoredConversation => ({
  record: recordOf(status),
  local,
  staged: undefined,
  ...more,
})
const active = stateOf(Status.ACTIVE)
const withStaged = stateOf(Status.ACTIVE, { staged })
const creating = stateOf(Status.CREATING, { staged })
const waiting = stateOf(Status.WAITING)

const envelopeOf = (kind: Envelope_Kind, message: string, seq = 7n) =>
  create(EnvelopeSchema, { kind, seq, epoch: 3n, message: bytes(message), acceptedAt: timestampFromMs(atMs) })
const arrivalOf = (kind: Envelope_Kind, message: string, more: Partial<Arrival> = {}): Arrival => ({
  envelope: envelopeOf(kind, message),
  source: "log",
  isOwn: false,
  hasFreshKeys: false,
  hasAdvanced: false,
  isNextInLog: false,
  ...more,
})
const message = (more?: Partial<Arrival>) => arrivalOf(Envelope_Kind.APPLICATION, "hello", more)
const commit = (more?: Partial<Arrival>) => arrivalOf(Envelope_Kind.COMMIT, "theirs", more)
const ownCommit = (more?: Partial<Arrival>) => arrivalOf(Envelope_Kind.COMMIT, "ours", more)
const at = { seq: 7n, atMs }
const receipt = { hash: bytes("next receipt"), acceptedAtMs: BigInt(atMs) }

const arrived = (arrival: Arrival): EnvelopeEvent => ({ on: "envelope", arrival })
const rejected = (arrival: Arrival, verdict: Verdict): EnvelopeEvent => ({ on: "rejected", arrival, verdict })
const verified = (arrival: Arrival, outcome: CommitOutcome): EnvelopeEvent => ({
  ...{ on: "verified", arrival, receipt, outcome, wipe },
})
const epoch = {
  is: "epoch",
  group: nextGroup,
  treeHash: bytes("next tree"),
  committer: ben,
  added: [],
  removed: [],
} as const
const own = { isReset: false, asksConfirmation: false, nowSeconds: 9 }
const entryOf = (entry: TimelineEntry): DraftEffect => ({ do: "entry", entry })
const text = { ...at, is: "message", from: ben, plaintext: bytes("hello"), outboxId: undefined } as const
const missing = { ...at, is: "missing", from: ben, count: 2 } as const

/** The fields that differ between two states, by their value after; "gone" for a field or part that was removed. */
function changed(before: StoredConversation, after: StoredConversation) {
  const fields: Record<string, unknown> = {}
  for (const part of ["record", "local"] as const) {
    const [was, is]: Record<string, unknown>[] = [{ ...before[part] }, { ...after[part] }]
    if (after[part] === undefined && before[part] !== undefined) fields[part] = "gone"
    else for (const name in { ...was, ...is }) if (is?.[name] !== was?.[name]) fields[name] = is?.[name] ?? "gone"
  }
  if (before.staged !== undefined && after.staged === undefined) fields.staged = "gone"
  return fields
}

const nextEpoch = { group: nextGroup, treeHash: epoch.treeHash, processedSeq: 7n, receipt }
const seeKeys = (before: StoredConversation): DraftEffect => ({ do: "seeKeys", before, group: nextGroup, at })
const noticeKeys: DraftEffect = { do: "noticeKeys", group: nextGroup }
const ended = (why: "end" | "needsIssuerKeys"): DraftEffect => ({ do: "end", why })
const wiped: DraftEffect = { do: "wipe", wipe }
const doneIntent: DraftEffect = { do: "changePending", change: { table: "intent", key: "int_1" } }
const resetState = stateOf(Status.ACTIVE, {
  record: create(ConversationRecordSchema, { ...recordOf(Status.ACTIVE), resetSeq: 6n }),
})

const rows: readonly (readonly [string, StoredConversation, EnvelopeEvent, object, readonly DraftEffect[]])[] = [
  ["a message is opened", active, arrived(message()), {}, [{ do: "openMessage" }]],
  [
    "the first message after a reset announces the keys before",
    resetState,
    arrived(message()),
    {},
    [{ do: "seeKeys", before: resetState, group, at }, { do: "openMessage" }],
  ],
  ["a commit is verified", active, arrived(commit()), {}, [{ do: "verifyCommit" }]],
  ["the staged commit is verified", creating, arrived(ownCommit({ source: "caller" })), {}, [{ do: "verifyCommit" }]],
  ["an applied envelope changes nothing", active, arrived(message({ envelope: envelopeOf(0, "hello", 6n) })), {}, []],
  [
    "an envelope beyond a gap ends the batch",
    active,
    arrived(message({ envelope: envelopeOf(0, "hello", 8n) })),
    {},
    [ended("end")],
  ],
  [
    "no malformed commit is a reset after a gap",
    active,
    arrived(commit({ envelope: envelopeOf(Envelope_Kind.COMMIT, "theirs", 8n), isNextInLog: true })),
    {},
    [ended("end")],
  ],
  ["a removed device reads nothing", stateOf(Status.REMOVED), arrived(message()), {}, [ended("end")]],
  [
    "another device's first commit leaves the own group",
    creating,
    arrived(commit()),
    { status: Status.WAITING, local: "gone", staged: "gone" },
    [],
  ],
  [
    "an opened message moves ratchet and position",
    active,
    {
      on: "opened",
      arrival: message(),
      entry: text,
      missing: undefined,
      manifest: undefined,
      ownItem: undefined,
      next: { group: nextGroup, wipe },
    },
    { group: nextGroup, processedSeq: 7n },
    [entryOf(text), wiped],
  ],
  [
    "a message that reveals missing ones is behind their warning",
    active,
    {
      on: "opened",
      arrival: message(),
      entry: text,
      missing,
      manifest: undefined,
      ownItem: undefined,
      next: { group: nextGroup, wipe },
    },
    { group: nextGroup, processedSeq: 7n },
    [entryOf(missing), entryOf(text), wiped],
  ],
  [
    "an own message leaves the outbox, and moves the position but not the ratchet",
    active,
    {
      on: "opened",
      arrival: message(),
      entry: text,
      missing: undefined,
      manifest: undefined,
      ownItem: "obx_1",
      next: undefined,
    },
    { processedSeq: 7n },
    [entryOf(text), { do: "changePending", change: { table: "outbox", key: "obx_1" } }],
  ],
  [
    "a commit of another device begins the next epoch, and drops the staged one",
    withStaged,
    verified(commit(), { ...epoch, added: [ann] }),
    { ...nextEpoch, staged: "gone" },
    [
      wiped,
      seeKeys(withStaged),
      entryOf({ ...at, is: "membership", committer: ben, added: [ann], removed: [] }),
      noticeKeys,
    ],
  ],
  [
    "a commit that changes no member has no entry",
    active,
    verified(commit(), epoch),
    nextEpoch,
    [wiped, seeKeys(active), noticeKeys],
  ],
  [
    "the own commit ends its intent",
    withStaged,
    verified(ownCommit(), { ...epoch, own }),
    { ...nextEpoch, identityKey: staged.nextIdentityKey, leafRenewedAt: 9, staged: "gone" },
    [wiped, seeKeys(withStaged), doneIntent, noticeKeys],
  ],
  [
    "the own first commit makes the conversation active",
    creating,
    verified(ownCommit(), { ...epoch, own, added: [ann] }),
    { ...nextEpoch, status: Status.ACTIVE, identityKey: staged.nextIdentityKey, leafRenewedAt: 9, staged: "gone" },
    [
      wiped,
      seeKeys(creating),
      entryOf({ ...at, is: "membership", committer: ben, added: [ann], removed: [] }),
      doneIntent,
      noticeKeys,
    ],
  ],
  [
    "the own reset is an entry, at which the new state begins",
    creating,
    verified(ownCommit(), { ...epoch, own: { ...own, isReset: true, asksConfirmation: true }, added: [ann] }),
    {
      ...{ ...nextEpoch, status: Status.ACTIVE, identityKey: staged.nextIdentityKey, leafRenewedAt: 9, staged: "gone" },
      ...{ mlsGroupId: nextGroup.groupId, resetSeq: 7n, joinedSeq: 7n, asksConfirmation: true },
    },
    [wiped, seeKeys(creating), entryOf({ ...at, is: "reset", by: ben }), doneIntent, noticeKeys],
  ],
  [
    "a removed device drops its state",
    active,
    verified(commit(), { is: "removed", committer: ben, removed: [ann] }),
    { status: Status.REMOVED, local: "gone" },
    [wiped, entryOf({ ...at, is: "membership", committer: ben, added: [], removed: [ann] }), { do: "dropPending" }],
  ],
  [
    "a device that waits to be added again keeps waiting when it is removed",
    waiting,
    verified(commit(), { is: "removed", committer: ben, removed: [ann] }),
    { local: "gone" },
    [wiped, entryOf({ ...at, is: "membership", committer: ben, added: [], removed: [ann] })],
  ],
  [
    "another device's reset drops the group, and waits for the welcome",
    withStaged,
    verified(commit(), { is: "reset", mlsGroupId: bytes("new"), asksConfirmation: true }),
    {
      ...{ status: Status.WAITING, mlsGroupId: bytes("new"), resetSeq: 7n, joinedSeq: 6n, asksConfirmation: true },
      ...{ pendingConsume: undefined, local: "gone", staged: "gone" },
    },
    [wiped, entryOf({ ...at, is: "reset", by: undefined })],
  ],
  [
    "a reset after a gap shows it",
    active,
    verified(commit({ envelope: envelopeOf(Envelope_Kind.COMMIT, "theirs", 8n), isNextInLog: true }), {
      is: "reset",
      mlsGroupId: bytes("new"),
      asksConfirmation: true,
    }),
    {
      ...{ status: Status.WAITING, mlsGroupId: bytes("new"), resetSeq: 8n, joinedSeq: 7n, asksConfirmation: true },
      local: "gone",
    },
    [
      wiped,
      entryOf({ seq: 8n, atMs, is: "gap", afterSeq: 6n }),
      entryOf({ seq: 8n, atMs, is: "reset", by: undefined }),
    ],
  ],
  [
    "a message of the log that does not open is an unreadable entry",
    active,
    rejected(message(), new MlsError("MLS_BAD_SIGNATURE", "")),
    { processedSeq: 7n },
    [entryOf({ ...at, is: "unreadable", reason: "MLS_BAD_SIGNATURE" })],
  ],
  [
    "an unknown own message reveals a restored state",
    active,
    rejected(message(), new MlsError("OWN_UNKNOWN", "")),
    { processedSeq: 7n, status: Status.ROLLED_BACK, usedEpoch: group.epoch },
    [entryOf({ ...at, is: "unreadable", reason: "OWN_UNKNOWN" }), { do: "dropUncertain", untilMs: at.atMs }],
  ],
  [
    "an unknown own message only marks the epoch of a device that waits to be added again",
    waiting,
    rejected(message(), new MlsError("OWN_UNKNOWN", "")),
    { processedSeq: 7n, usedEpoch: group.epoch },
    [entryOf({ ...at, is: "unreadable", reason: "OWN_UNKNOWN" })],
  ],
  [
    "an own message that the log repeats is passed over",
    active,
    rejected(message({ isOwn: true }), new MlsError("OWN_REPLAY", "")),
    { processedSeq: 7n },
    [],
  ],
  [
    "an own commit that the log repeats is passed over",
    active,
    rejected(commit({ isOwn: true }), new MlsError("OWN_REPLAY", "")),
    { processedSeq: 7n },
    [],
  ],
  [
    "a message of an ended epoch shows nothing about this device, whoever the service names as its sender",
    active,
    rejected(message({ isOwn: true }), new MlsError("REPLAY", "")),
    { processedSeq: 7n },
    [entryOf({ ...at, is: "unreadable", reason: "REPLAY" })],
  ],
  [
    "an unknown own commit reveals a restored state",
    active,
    rejected(commit({ isOwn: true }), new MlsError("MLS_BAD_SENDER", "")),
    { status: Status.ROLLED_BACK, local: "gone" },
    [{ do: "dropUncertain", untilMs: at.atMs }],
  ],
  [
    "an unknown issuer key ends the batch before the commit",
    active,
    rejected(commit(), new CanonicalError("RECEIPT_UNKNOWN_ISSUER_KEY", "")),
    {},
    [ended("needsIssuerKeys")],
  ],
  [
    "a rejected envelope of a caller ends the batch after valid ones",
    active,
    rejected(commit({ source: "caller", hasAdvanced: true }), new Forked("THIRD_USER")),
    {},
    [ended("end")],
  ],
]

describe("a decision about an envelope", () => {
  test.each(rows)("%s", (_, before, event, changes, effects) => {
    const frozen = Object.freeze({ ...before })
    const { state, effects: found } = decideEnvelope(frozen, event)
    expect(changed(before, state)).toEqual(changes)
    // A change is written unless the state is the same object.
    if (Object.keys(changes).length === 0) expect(state).toBe(frozen)
    expect(found).toEqual(effects)
    // Deterministic.
    expect(decideEnvelope(frozen, event).state).toEqual(state)
  })

  test.each([
    [
      "a commit that fails its checks",
      commit(),
      new Forked("STATE_TAG_DIFFERS", { stateTag: bytes("tag") }),
      "STATE_TAG_DIFFERS",
    ],
    ["a message with another receipt", message(), new Forked("RECEIPT_SEEN_DIFFERS"), "RECEIPT_SEEN_DIFFERS"],
    [
      "a commit with an unknown issuer key after a refresh",
      commit({ hasFreshKeys: true }),
      new CanonicalError("RECEIPT_UNKNOWN_ISSUER_KEY", ""),
      "RECEIPT_UNKNOWN_ISSUER_KEY",
    ],
    ["another device's commit that claims our leaf", commit(), new MlsError("MLS_BAD_SENDER", ""), "MLS_BAD_SENDER"],
    // Only a valid receipt makes an unknown own commit evidence of a restored state.
    [
      "an own commit under a forged receipt",
      commit({ isOwn: true, hasFreshKeys: true }),
      new CanonicalError("RECEIPT_BAD_SIGNATURE", ""),
      "RECEIPT_BAD_SIGNATURE",
    ],
  ])("%s quarantines the conversation and keeps its state", (_, arrival, verdict, reason) => {
    const { state, effects } = decideEnvelope(active, rejected(arrival, verdict))
    expect(state.record).toMatchObject({ status: Status.QUARANTINED, quarantine: { reason, seq: 7n, epoch: 3n } })
    expect(state.record?.quarantine?.$typeName).toBe(ConversationRecord_QuarantineSchema.typeName)
    expect(state.local).toBe(active.local)
    expect(effects).toEqual([])
  })

  test.each<[string, StoredConversation, EnvelopeEvent, string]>([
    [
      "an own commit of a caller that is not staged",
      active,
      arrived(commit({ source: "caller", isOwn: true })),
      "ENVELOPE_INVALID",
    ],
    [
      "a commit of a caller before the own first one",
      creating,
      arrived(commit({ source: "caller" })),
      "ENVELOPE_INVALID",
    ],
    [
      "a rejected message of a caller",
      active,
      rejected(message({ source: "caller" }), new MlsError("MLS_BAD_SIGNATURE", "")),
      "ENVELOPE_INVALID",
    ],
    [
      "a receipt from the future",
      active,
      rejected(commit(), new CanonicalError("RECEIPT_FROM_FUTURE", "")),
      "CLOCK_WRONG",
    ],
  ])("%s is an error that changes nothing", (_, before, event, reason) => {
    expect(() => decideEnvelope(before, event)).toThrow(
      expect.toSatisfy((error) => isMessagingError(error, reason as never)),
    )
  })
})
