import { expect, test } from "vitest"
import { type AppendDecision, type Attempt, committerOf, decideAppend, decideReplay } from "./append.ts"
import type { Conversation } from "./records.ts"
import { bytes, conversation, device, directive, fresh, leaf, nowMs } from "./testing/records.ts"

const commit: Attempt = { kind: "COMMIT", deviceId: device(10), expectedEpoch: 3n, framedEpoch: 3n, membership: null }
const message: Attempt = { kind: "APPLICATION", deviceId: device(10), expectedEpoch: 3n, framedEpoch: 3n }
const unparsed: Attempt = { kind: "COMMIT", deviceId: device(10), expectedEpoch: 3n }
const rejoining = { directives: [{ ...directive, kind: "REJOIN" as const }] }
const beyond = { directives: [{ ...directive, kind: "REJOIN" as const, isBeyondLog: true as const }] }
const readded = { directives: beyond.directives.map((one) => ({ ...one, status: "REMOVED" as const })) }
const rejoin = { op: "REJOIN", isDirected: true } as const
const refuse = (reason: string) => ({ is: "refuse", reason }) as AppendDecision
const removing = { directives: [directive] }
const removal = { op: "REMOVE", isDirected: true } as const
const issued = (agoMs: number) => ({ directives: [{ ...directive, issuedAtMs: nowMs - agoMs }] })

test.each<[string, Partial<Conversation>, Attempt, Partial<AppendDecision>]>([
  ["a commit ends the epoch", {}, commit, { is: "append", seq: 8n, nextEpoch: 4n, acceptedAtMs: nowMs }],
  ["a message does not", {}, message, { is: "append", seq: 8n, nextEpoch: 3n }],
  ["time never goes back", { headAtMs: nowMs + 5 }, message, { is: "append", acceptedAtMs: nowMs + 5 }],
  ["a caller that has read the whole log appends", {}, { ...message, processedSeq: 7n }, { is: "append", seq: 8n }],
  [
    "a number that the caller has read is not used again",
    {},
    { ...message, processedSeq: 8n },
    refuse("LOG_INCOMPLETE"),
  ],
  ["also if the caller's epoch was lost", { epoch: 2n }, { ...commit, processedSeq: 9n }, refuse("LOG_INCOMPLETE")],
  ["a lost message returns to its number", {}, { ...message, resubmittedSeq: 8n }, { is: "append", seq: 8n }],
  ["and to no other one", {}, { ...message, resubmittedSeq: 9n }, refuse("LOG_INCOMPLETE")],
  ["a commit of a taken epoch conflicts", { epoch: 4n }, commit, { is: "conflict" }],
  ["a message of a passed epoch is stale", { epoch: 4n }, message, { is: "stale" }],
  ["nothing is ahead of the conversation", { epoch: 2n }, commit, refuse("FUTURE_EPOCH")],
  ["two epochs in one request are none", {}, { ...commit, framedEpoch: 4n }, refuse("ENVELOPE_INVALID")],
  [
    "a stranger is told so before the epoch is",
    { epoch: 9n },
    { ...message, deviceId: device(30) },
    refuse("NOT_MEMBER"),
  ],
  ["a closed conversation takes nothing", { status: "CLOSED" }, commit, refuse("CONVERSATION_CLOSED")],
  ["quarantine takes no message", { status: "QUARANTINED" }, message, refuse("CONVERSATION_QUARANTINED")],
  ["quarantine takes no commit", { status: "QUARANTINED" }, commit, refuse("CONVERSATION_QUARANTINED")],
  [
    "but one that carries out a directive",
    { status: "QUARANTINED" },
    { ...commit, membership: removal },
    { is: "append" },
  ],
  ["before it was parsed it may be one", { status: "QUARANTINED" }, unparsed, { is: "append" }],
  ["a revoked device sends nothing", removing, { ...commit, deviceId: device(21) }, refuse("DEVICE_REVOKED")],
  [
    "neither does who is leaving, with any device",
    { directives: [{ ...directive, kind: "LEAVE", deviceId: null }] },
    { ...message, deviceId: device(20) },
    refuse("NOT_MEMBER"),
  ],
  ["a lost message waited before", removing, { ...message, resubmittedSeq: 8n }, { is: "append" }],
  [
    "but not one of a device that is being removed",
    removing,
    { ...message, deviceId: device(21), resubmittedSeq: 8n },
    refuse("DEVICE_REVOKED"),
  ],
  ["messages wait for a removal", removing, message, { is: "commitRequired", directive }],
  ["but not in its first 5 seconds", issued(4_999), message, { is: "append" }],
  ["from then on", issued(5_000), message, { is: "commitRequired" }],
  ["commits wait", removing, commit, { is: "commitRequired", directive }],
  ["but not in its first second", issued(999), commit, { is: "append" }],
  ["from then on", issued(1_000), commit, { is: "commitRequired" }],
  [
    "a change that a member asks for waits",
    removing,
    { ...commit, membership: { op: "REMOVE", isDirected: false } },
    { is: "commitRequired" },
  ],
  ["a rejoin waits", removing, { ...commit, membership: { op: "REJOIN", isDirected: true } }, { is: "commitRequired" }],
  ["a removal that the service requests does not", removing, { ...commit, membership: removal }, { is: "append" }],
  ["a former credential is renewed before it", removing, { ...commit, renewsLeaf: true }, { is: "append" }],
  [
    "but with no other change",
    removing,
    { ...commit, renewsLeaf: true, membership: { op: "ADD", isDirected: false } },
    { is: "commitRequired" },
  ],
  ["a reset does not", removing, { ...commit, isReset: true }, { is: "append" }],
  ["a reset of a whole log is the next", {}, { ...commit, isReset: true, processedSeq: 7n }, { seq: 8n }],
  [
    "of one that was read beyond its end, it is far",
    {},
    { ...commit, isReset: true, processedSeq: 8n },
    { seq: 1_048_583n },
  ],
  [
    "not as far as the sender likes",
    {},
    { ...commit, isReset: true, processedSeq: 2n ** 62n },
    { is: "append", seq: 1_048_583n },
  ],
  [
    "no other commit skips a number",
    { kind: "DIRECT" },
    { ...commit, isReset: false, processedSeq: 8n },
    refuse("LOG_INCOMPLETE"),
  ],
  ["before it was parsed it may be a reset", { kind: "DIRECT" }, { ...unparsed, processedSeq: 8n }, { is: "append" }],
  ["but not in a group", { kind: "GROUP" }, { ...unparsed, processedSeq: 8n }, refuse("LOG_INCOMPLETE")],
  ["the removal of a rejoining device is the next", rejoining, { ...commit, membership: rejoin }, { seq: 8n }],
  ["of one that has read beyond the log, it is far", beyond, { ...commit, membership: rejoin }, { seq: 1_048_583n }],
  ["the addition after it is not", readded, { ...commit, membership: rejoin }, { seq: 8n }],
  ["no other commit is far", beyond, commit, { seq: 8n }],
  ["no message either", beyond, message, { seq: 8n }],
  ["a lost commit returns to the far number", {}, { ...commit, resubmittedSeq: 1_048_583n }, { seq: 1_048_583n }],
  ["and to the next one, whatever waits", beyond, { ...commit, membership: rejoin, resubmittedSeq: 8n }, { seq: 8n }],
  ["a lost message to no far one", {}, { ...message, resubmittedSeq: 1_048_583n }, refuse("LOG_INCOMPLETE")],
  ["a commit before it is parsed does not", removing, unparsed, { is: "append" }],
  ["nothing waits for a rejoin", rejoining, message, { is: "append" }],
  ["no commit either", rejoining, commit, { is: "append" }],
])("%s", (_, change, attempt, expected) => {
  expect(decideAppend({ ...conversation, ...change }, attempt, nowMs)).toMatchObject(expected)
})

test("the first commit needs no leaf, and a message needs an earlier commit", () => {
  const first = { ...commit, expectedEpoch: 0n, framedEpoch: 0n }
  expect(decideAppend(fresh, first, nowMs)).toMatchObject({ is: "append", seq: 1n, nextEpoch: 1n })
  expect(decideAppend(fresh, { ...first, kind: "APPLICATION" }, nowMs)).toEqual(refuse("NOT_MEMBER"))
  expect(committerOf(fresh, 0, device(10), true)).toBe("first")
  expect(committerOf(fresh, 1, device(10), true)).toBeUndefined()
})

test("a commit's sender must be the caller's leaf", () => {
  expect(committerOf(conversation, 1, device(20), false)).toEqual(leaf(1, 20))
  expect(committerOf(conversation, 1, device(10), false)).toBeUndefined()
  expect(committerOf(conversation, 7, device(10), false)).toBeUndefined()
})

test("an idempotency key stands for one content", () => {
  expect(decideReplay(undefined, bytes(1))).toBe("new")
  expect(decideReplay({ contentHash: bytes(1) }, bytes(1))).toBe("replay")
  expect(decideReplay({ contentHash: bytes(1) }, bytes(2))).toBe("mismatch")
})

test("a device without a leaf in a direct conversation may commit a reset and nothing else", () => {
  const direct = { ...conversation, kind: "DIRECT" as const }
  const outside = { ...commit, deviceId: device(11), framedEpoch: 3n }
  expect(decideAppend(direct, { ...outside, isReset: true }, nowMs)).toMatchObject({ is: "append", nextEpoch: 4n })
  // Before parsing, it may be a reset.
  expect(decideAppend(direct, outside, nowMs)).toMatchObject({ is: "append" })
  expect(decideAppend(direct, { ...outside, isReset: false }, nowMs)).toEqual(refuse("NOT_MEMBER"))
  const message = { ...outside, kind: "APPLICATION" as const }
  expect(decideAppend(direct, { ...message, isReset: true }, nowMs)).toEqual(refuse("NOT_MEMBER"))
  expect(decideAppend(conversation, { ...outside, isReset: true }, nowMs)).toEqual(refuse("NOT_MEMBER"))
  const late = { ...outside, isReset: true, expectedEpoch: 2n, framedEpoch: 2n }
  expect(decideAppend(direct, late, nowMs)).toEqual(refuse("NOT_MEMBER"))
  const closed = { ...direct, status: "CLOSED" as const }
  expect(decideAppend(closed, { ...outside, isReset: true }, nowMs)).toEqual(refuse("CONVERSATION_CLOSED"))
  const quarantined = { ...direct, status: "QUARANTINED" as const }
  expect(decideAppend(quarantined, { ...outside, isReset: true }, nowMs)).toMatchObject({ is: "append" })
})
