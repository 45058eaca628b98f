import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { ConversationRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { ConversationKind } from "@signet/proto/messaging/v1/records"
import { describe, expect, test } from "vitest"
import { alice, bob, bytes32, id } from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import { membersOf } from "../mls.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import type { DraftPart } from "./event.ts"
import { decideJoin, type Join, stepFor, type WelcomeStep } from "./welcome.ts"

const first = await engine.createGroup({ groupId: bytes32(1), identity: await signedIdentity(), ...lifetime })
const bobs = await engine.newKeyPackage(await signedIdentity({ userId: bob, deviceId: id(0x69) }), lifetime)
const { next: group } = await engine.add(first, [bobs.keyPackage], { aad: new Uint8Array() })
const users = [idOf("prn", alice), idOf("prn", bob)]

type Fields = MessageInitShape<typeof ConversationRecordSchema>
const recordOf = (fields: Fields) =>
  create(ConversationRecordSchema, { isDirect: true, mlsGroupId: bytes32(1), ...fields })
const stored = (fields: Fields): StoredConversation => ({
  record: recordOf(fields),
  local: undefined,
  staged: undefined,
})
const nothing: StoredConversation = { record: undefined, local: undefined, staged: undefined }

test.each<[string, StoredConversation, WelcomeStep]>([
  ["an unknown conversation is joined", nothing, "join"],
  ["a waiting one is joined", stored({ status: Status.WAITING, joinedSeq: 8n }), "join"],
  [
    "a join that the service may not know is confirmed",
    stored({ status: Status.WAITING, pendingConsume: { welcomeId: "wel_1" } }),
    "consume",
  ],
  [
    "the welcome of the own join under another id is confirmed",
    stored({ status: Status.ACTIVE, joinedSeq: 9n }),
    "consumeAgain",
  ],
  ["a member reads the log first", stored({ status: Status.ACTIVE, joinedSeq: 8n }), "readLog"],
  ["a leaving member reads the log first", stored({ status: Status.LEAVING, joinedSeq: 8n }), "readLog"],
])("%s", (_, before, step) => {
  expect(stepFor(before, { id: "wel_1", commitSeq: 9n })).toBe(step)
})

const at = { seq: 9n, atMs: 5 }
const local = { group, processedSeq: 9n } as LocalGroup
const founder = { userId: "prn_ann", deviceId: "dev_ann" }
const joinOf = (more: Partial<Join> = {}): Join => ({
  welcome: { conversationKind: ConversationKind.DIRECT, commitSeq: 9n, mlsGroupId: bytes32(1) },
  ...{
    record: recordOf({ status: Status.ACTIVE, joinedSeq: 9n }),
    local,
    members: membersOf(group),
    at,
    adder: founder,
    isFirst: true,
  },
  ...{ hasLaterEntry: false, readSeq: 0n, accepted: [], reset: undefined, ...more },
})
const notice: DraftPart = { do: "noticeKeys", group }
const see = (before: StoredConversation): DraftPart => ({ do: "seeKeys", before, group, at })
const gapAfter = (afterSeq: bigint) => ({ ...at, is: "gap", afterSeq }) as const
const resetEntry: DraftPart = { do: "entry", entry: { ...at, is: "reset", by: founder } }
/** The envelopes that stay stored. */
const tail = { tailCount: 3, tailBytes: 30n, tailAt: 7n }
const earlier = stored({
  status: Status.WAITING,
  joinedSeq: 3n,
  directUserIds: users,
  seenKeysHash: bytes32(7),
  ...tail,
})
const reading = { ...earlier, local: { group, processedSeq: 6n } as LocalGroup }
const reported = stored({ status: Status.WAITING, joinedSeq: 8n, resetSeq: 9n, directUserIds: users })
const afterReset = (readSeq: bigint) => joinOf({ readSeq, reset: { asksConfirmation: true } })
const ownEntry = { seq: 7n, atMs: 4, is: "message", from: founder, plaintext: bytes32(2), outboxId: "own" } as const
const file = { outboxId: "file", manifest: create(AttachmentManifestSchema, { fileName: "a file" }) }
const accepted = [{ outboxId: "own", entry: ownEntry, manifest: undefined }]

describe("a decision about a join", () => {
  test.each<[string, StoredConversation, Join, readonly DraftPart[], Fields]>([
    [
      "a first join stores its two users, and has no entry",
      nothing,
      joinOf(),
      [notice, see(nothing)],
      { directUserIds: users },
    ],
    [
      "a first join without the other user stores no users",
      nothing,
      joinOf({ members: membersOf(first) }),
      [notice, see(nothing)],
      { directUserIds: [] },
    ],
    [
      "own messages that were accepted in the absence are shown in their order, each with its file",
      reading,
      joinOf({ readSeq: 6n, accepted: [{ ...file, entry: { ...ownEntry, seq: 8n } }, ...accepted] }),
      [
        notice,
        { do: "entry", entry: ownEntry },
        { do: "changePending", change: { table: "outbox", key: "own" } },
        { do: "entry", entry: { ...ownEntry, seq: 8n } },
        { do: "putManifest", seq: 8n, manifest: file.manifest },
        { do: "changePending", change: { table: "outbox", key: "file" } },
        see(reading),
      ],
      { directUserIds: users },
    ],
    [
      "a join after an absence stores the gap without an event",
      reading,
      joinOf({ readSeq: 6n }),
      [notice, see(reading), { do: "storeEntry", entry: gapAfter(6n) }],
      { directUserIds: users, seenKeysHash: bytes32(7), resetSeq: 0n, ...tail },
    ],
    [
      "a join at the next position has no gap",
      reading,
      joinOf({ readSeq: 8n }),
      [notice, see(reading)],
      { directUserIds: users },
    ],
    [
      "an own message that was accepted in the absence is shown in the gap, and not sent again",
      reading,
      joinOf({ readSeq: 5n, accepted }),
      [
        notice,
        { do: "storeEntry", entry: { seq: 7n, atMs: 4, is: "gap", afterSeq: 5n } },
        { do: "entry", entry: ownEntry },
        { do: "changePending", change: { table: "outbox", key: "own" } },
        see(reading),
        { do: "storeEntry", entry: gapAfter(7n) },
      ],
      { directUserIds: users },
    ],
    [
      "a join of another group is a reset",
      earlier,
      afterReset(8n),
      [notice, see(earlier), resetEntry],
      { resetSeq: 9n, asksConfirmation: true },
    ],
    [
      "messages between two resets are a gap",
      earlier,
      afterReset(5n),
      [notice, { do: "entry", entry: gapAfter(5n) }, see(earlier), resetEntry],
      { resetSeq: 9n, asksConfirmation: true },
    ],
    ["a reset that the log has shown adds no second entry", reported, afterReset(8n), [notice], { resetSeq: 9n }],
  ])("%s", (_, before, join, effects, fields) => {
    const decision = decideJoin(Object.freeze(before), join)
    expect(decision.effects).toEqual(effects)
    expect(decision.state).toMatchObject({ local, staged: undefined, record: { ...fields, status: Status.ACTIVE } })
  })

  test.each([7n, 8n])("an own message at a position that was read is refused: read up to %s", (readSeq) => {
    expect(() => decideJoin(reading, joinOf({ readSeq, accepted }))).toThrow("not in the unread log")
  })

  test.each([9n, 10n])("an own message at %s, the commit or beyond, is refused", (seq) => {
    const late = [{ outboxId: "own", entry: { ...ownEntry, seq }, manifest: undefined }]
    expect(() => decideJoin(reading, joinOf({ readSeq: 6n, accepted: late }))).toThrow("not in the unread log")
  })

  test("a welcome to an earlier position is refused", () => {
    expect(() => decideJoin(earlier, joinOf({ hasLaterEntry: true }))).toThrow("already read beyond the welcome")
  })
})
