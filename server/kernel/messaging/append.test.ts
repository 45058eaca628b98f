import { expect, test } from "vitest"
import { type AppendDecision, type Attempt, committerOf, decideAppend, decideReplay } from "./append.ts"
import type { Conversation } from "./records.ts"
import { bytes, conversation, device, directive, fresh, leaf, nowMs } from "./testing/records.ts"

const commit: Attempt = { kind: "COMMIT", deviceId: device(10), expectedEpoch: 3n, framedEpoch: 3n, isDirected: false }
const message: Attempt = { kind: "APPLICATION", deviceId: device(10), expectedEpoch: 3n, framedEpoch: 3n }
const refuse = (reason: string) => ({ is: "refuse", reason }) as AppendDecision
const online = { directives: [directive], memberOnlineAtMs: nowMs - 1 }

test.each<[string, Partial<Conversation>, Attempt, Partial<AppendDecision>]>([
  ["a commit ends the epoch", {}, commit, { is: "append", seq: 8n, nextEpoch: 4n, acceptedAtMs: nowMs }],
  ["a message does not", {}, message, { is: "append", seq: 8n, nextEpoch: 3n }],
  ["time never goes back", { headAtMs: nowMs + 5 }, message, { is: "append", acceptedAtMs: nowMs + 5 }],
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
    { ...commit, isDirected: true },
    { is: "append" },
  ],
  [
    "before it was parsed it may be one",
    { status: "QUARANTINED" },
    { kind: "COMMIT", deviceId: device(10), expectedEpoch: 3n },
    { is: "append" },
  ],
  ["a revoked device sends nothing", online, { ...commit, deviceId: device(21) }, refuse("DEVICE_REVOKED")],
  [
    "neither does who is leaving, with any device",
    { directives: [{ ...directive, kind: "LEAVE", deviceId: null }] },
    { ...message, deviceId: device(20) },
    refuse("NOT_MEMBER"),
  ],
  ["messages wait for a removal", online, message, { is: "commitRequired", directive }],
  ["commits do not", online, commit, { is: "append" }],
  [
    "not in its first 30 seconds",
    { ...online, directives: [{ ...directive, issuedAtMs: nowMs - 29_999 }] },
    message,
    { is: "append" },
  ],
  [
    "not when nobody was online since",
    { ...online, memberOnlineAtMs: directive.issuedAtMs - 1 },
    message,
    { is: "append" },
  ],
  ["never for a rejoin", { ...online, directives: [{ ...directive, kind: "REJOIN" }] }, message, { is: "append" }],
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
