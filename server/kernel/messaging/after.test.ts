import { expect, test } from "vitest"
import { idOf } from "../ids.ts"
import { conversationAfter, receiptFacts } from "./after.ts"
import { bytes, conversation, device, directive, leaf, nowMs, user } from "./testing/records.ts"
import type { VerifiedCommit } from "./verified.ts"

const decided = { is: "append", seq: 8n, nextEpoch: 4n, acceptedAtMs: nowMs } as const
const state = { stateTag: bytes(30), groupContext: bytes(31), interimTranscriptHash: bytes(32), treeHash: bytes(33) }
const commit: VerifiedCommit = {
  resetGroupId: null,
  renewsLeaf: false,
  membership: null,
  roster: [leaf(0, 10), leaf(1, 20)],
  groupInfo: { bytes: bytes(1), hash: bytes(2) },
  tree: null,
  state,
  welcomes: [],
}
const report = {
  ...{ deviceId: device(21), userId: user(2), epoch: 2n, seq: 7n, fault: "COMMIT_UNPROCESSABLE" as const },
  ...{ stateTag: null, reportedAtMs: nowMs },
}

test("a message changes the head only", () => {
  const after = conversationAfter(conversation, { commit: null }, { ...decided, nextEpoch: 3n }, bytes(9))
  expect(after).toEqual({ conversation: { ...conversation, headSeq: 8n, headAtMs: nowMs }, directives: [] })
})

test("a commit ends the epoch, fulfilled directives, and the quarantine once no reporter remains", () => {
  const before = { ...conversation, status: "QUARANTINED" as const, directives: [directive], forkReports: [report] }
  const after = conversationAfter(before, { commit }, decided, bytes(9))
  expect(after.conversation).toMatchObject({
    status: "ACTIVE",
    epoch: 4n,
    roster: commit.roster,
    directives: [],
    forkReports: [],
  })
  expect(after.conversation.state).toEqual({ ...state, receiptHash: bytes(9) })
  expect(after.directives).toEqual([{ id: directive.id, status: "DONE" }])
})

test("a reset starts another group and ends every directive, report and quarantine of the old one", () => {
  const rejoin = { ...directive, id: idOf("dir", bytes(2, 16)), kind: "REJOIN" as const, deviceId: device(20) }
  const forkReports = [{ ...report, deviceId: device(20) }]
  const before = { ...conversation, status: "QUARANTINED" as const, directives: [directive, rejoin], forkReports }
  const reset = { ...commit, resetGroupId: bytes(40) }
  const after = conversationAfter(before, { commit: reset }, decided, bytes(9))
  const expected = { status: "ACTIVE", epoch: 4n, mlsGroupId: bytes(40), directives: [], forkReports: [] }
  expect(after.conversation).toMatchObject(expected)
  expect(after.directives.map(({ status }) => status)).toEqual(["DONE", "DONE"])
})

test("quarantine lasts until every reporter has rejoined", () => {
  const before = { ...conversation, status: "QUARANTINED" as const, forkReports: [{ ...report, deviceId: device(20) }] }
  expect(conversationAfter(before, { commit }, decided, bytes(9)).conversation.status).toBe("QUARANTINED")
})

test("a receipt names the group that a reset starts, the tree that comes along and the receipt before it", () => {
  const append = { epoch: 3n, contentHash: bytes(50) }
  const plain = receiptFacts({ ...conversation, state: null }, append, commit, decided)
  expect(plain).toStrictEqual({
    conversationId: conversation.id,
    mlsGroupId: conversation.mlsGroupId,
    epoch: 3n,
    seq: 8n,
    commitHash: bytes(50),
    proofHash: null,
    groupInfoHash: bytes(2),
    treeBlobHash: null,
    previousReceiptHash: null,
    acceptedAtMs: nowMs,
    resultingStateTag: bytes(30),
  })
  const tree = { bytes: bytes(60), hash: bytes(61) }
  const membership = { op: "ADD", isDirected: false, proof: bytes(62), proofHash: bytes(63) } as const
  const before = { ...conversation, state: { ...state, receiptHash: bytes(64) } }
  const whole = receiptFacts(before, append, { ...commit, resetGroupId: bytes(40), tree, membership }, decided)
  expect(whole).toMatchObject({
    mlsGroupId: bytes(40),
    proofHash: bytes(63),
    treeBlobHash: bytes(61),
    previousReceiptHash: bytes(64),
  })
})
