import { create } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import {
  ConversationRecord_QuarantineSchema,
  ConversationRecordSchema,
  StagedCommitSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { bytes32 } from "../../../../proto/canonical/testing/world.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { signedEngine as engine, signedIdentity, signedLifetime } from "../testing/signed-group.ts"
import { actionFor, type EnvelopeAction, isAfterLoss, isLaterReset, isStagedCommit } from "./order.ts"

const own = Uint8Array.of(1)
const { APPLICATION, COMMIT } = Envelope_Kind
const local = { processedSeq: 7n } as LocalGroup
const staged = create(StagedCommitSchema, { commitHash: hash("commit", own) })
const active: StoredConversation = {
  record: create(ConversationRecordSchema, { status: Status.ACTIVE }),
  local,
  staged,
}
const creating: StoredConversation = {
  ...active,
  record: create(ConversationRecordSchema, { status: Status.CREATING }),
}
const quarantined: StoredConversation = {
  ...active,
  record: create(ConversationRecordSchema, {
    status: Status.QUARANTINED,
    quarantine: create(ConversationRecord_QuarantineSchema, { reason: "STATE_TAG_DIFFERS" }),
  }),
}

test.each<[string, StoredConversation, bigint, Envelope_Kind, Uint8Array, EnvelopeAction]>([
  ["the next message", active, 8n, APPLICATION, own, "next"],
  ["the next commit", active, 8n, COMMIT, own, "next"],
  ["a message that is applied", active, 7n, APPLICATION, own, "skip"],
  ["a message beyond a gap", active, 9n, APPLICATION, own, "gap"],
  ["our staged commit beyond a gap", active, 9n, COMMIT, own, "gap"],
  ["our first commit, wherever it is", creating, 90n, COMMIT, own, "next"],
  ["another device's first commit beyond a gap", creating, 9n, COMMIT, Uint8Array.of(2), "gap"],
  ["another device's first commit", creating, 8n, COMMIT, Uint8Array.of(2), "next"],
  ["a message while our group is created", creating, 8n, APPLICATION, own, "skip"],
  ["a message beyond a gap while our group is created", creating, 90n, APPLICATION, own, "skip"],
  ["a message in a quarantine", quarantined, 8n, APPLICATION, own, "stop"],
  ["a message without a group", { ...active, local: undefined }, 8n, APPLICATION, own, "stop"],
])("%s: %#", (_, stored, seq, kind, message, position) => {
  expect(actionFor(stored, create(EnvelopeSchema, { seq, kind, message }))).toBe(position)
})

test("only a commit is our staged commit", () => {
  expect(isStagedCommit(active, create(EnvelopeSchema, { kind: COMMIT, message: own }))).toBe(true)
  expect(isStagedCommit(active, create(EnvelopeSchema, { kind: APPLICATION, message: own }))).toBe(false)
})

test("only a commit of another group, in a direct conversation, is a later reset", async () => {
  const groupOf = async (value: number) =>
    engine.createGroup({ groupId: bytes32(value), identity: await signedIdentity(), ...signedLifetime })
  const [group, other] = [await groupOf(1), await groupOf(2)]
  const { commit } = await engine.update(other, { aad: new Uint8Array() })
  const { message } = await engine.encrypt(other, Uint8Array.of(1), new Uint8Array())
  const isReset = (kind: Envelope_Kind, bytes: Uint8Array, isDirect = true) => {
    const record = create(ConversationRecordSchema, { status: Status.ACTIVE, isDirect })
    const stored = { record, local: { ...local, group }, staged: undefined }
    return isLaterReset(stored, create(EnvelopeSchema, { seq: 90n, kind, message: bytes }))
  }
  expect(isReset(COMMIT, commit)).toBe(true)
  expect([isReset(COMMIT, commit, false), isReset(APPLICATION, message), isReset(COMMIT, own)]).toEqual([
    false,
    false,
    false,
  ])
})

test.each<[string, bigint, Envelope_Kind, boolean]>([
  ["a commit at the distance", 7n + 2n ** 20n, COMMIT, true],
  ["a nearer commit", 6n + 2n ** 20n, COMMIT, false],
  ["a farther commit", 8n + 2n ** 20n, COMMIT, false],
  ["a message", 7n + 2n ** 20n, APPLICATION, false],
])("%s continues a log that has lost envelopes only there", (_, seq, kind, isIt) => {
  expect(isAfterLoss(active, create(EnvelopeSchema, { seq, kind }))).toBe(isIt)
})
