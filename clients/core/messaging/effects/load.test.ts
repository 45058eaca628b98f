// Rows of a conversation that an attacker with write access to the store, but without its key, has changed.
import { create } from "@bufbuild/protobuf"
import {
  ConversationRecordSchema,
  StagedCommitSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { beforeEach, expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import { encodeEpoch } from "../mls.ts"
import type { Owner } from "../session.ts"
import { openConversationState } from "../state/conversation-state.ts"
import { type LocalGroup, type StoredConversation, treeHashOf } from "../state/stored-conversation.ts"
import { openMemoryStore } from "../store/memory.ts"
import { type SealedRows, sealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore, Named, Op } from "../store/store.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import { testBox } from "../testing/test-box.ts"
import { named } from "./conversation-rows.ts"
import { type LoadNeeds, load } from "./load.ts"

const space = idOf("cnv", world.conversationId)
const scope = { app: "app", user: "user" }
const owner = {
  ...{ appId: idOf("app", world.appId), tenantId: undefined, userId: idOf("prn", world.alice) },
} as Owner
const identity = await signedIdentity()
const group = await engine.createGroup({ groupId: world.mlsGroupId, identity, ...lifetime })
const other = await engine.createGroup({ groupId: world.mlsGroupId, identity, ...lifetime })
const local: LocalGroup = {
  ...{ group, processedSeq: 4n, receipt: "first", leafRenewedAt: Number(world.now) },
  ...{ identityKey: identity.signatureKey, treeHash: treeHashOf({ group }) },
}
const record = create(ConversationRecordSchema, { status: Status.ACTIVE })
const commitHash = world.bytes32(3)
const staged = create(StagedCommitSchema, { commitHash })

let store: MessagingStore
let rows: SealedRows
beforeEach(async () => {
  const box = testBox()
  await box.createKey(scope)
  store = openMemoryStore()
  rows = sealedRows(box, scope)
})

const needs = (bindsRecords = true): LoadNeeds => {
  const device = { id: idOf("dev", world.phone), marks: { bindsRecords } }
  // Only the fields that a load needs.
  return { store, rows, owner, engine, device: device as LoadNeeds["device"] }
}
const door = () => openConversationState({ ...needs(), emit: () => undefined }, space)
const write = (stored: Partial<StoredConversation>) =>
  door().change(async () => ({ next: { record, local, staged: undefined, ...stored }, result: undefined }))
const read = (bindsRecords?: boolean) => load(needs(bindsRecords), space)

/** Writes without a new generation, as an attacker with access to the disk does. */
async function overwrite(...ops: Op[]): Promise<void> {
  const { generation } = await store.read("device", [])
  const there = ops.map((op) => ({ ...op, space }))
  expect(await store.transact("device", generation, there)).toBe("ok")
}
const gone = (row: Named): Op => ({ op: "remove", ...row })
const rowOf = async (row: Named) => (await store.read(space, [row])).values[0] ?? expect.fail("no row")
const tampered = (message: string) => ({ reason: "STATE_TAMPERED", message: expect.stringContaining(message) })

test("a written state is read back, with a staged commit and without a group", async () => {
  expect(await read()).toMatchObject({ generation: 0n, stored: { record: undefined } })
  await write({ staged })
  const { stored } = await read()
  expect([stored.record?.status, stored.local?.processedSeq, stored.staged?.commitHash]).toEqual([
    Status.ACTIVE,
    4n,
    commitHash,
  ])
  expect(stored.local?.group.epoch).toBe(group.epoch)
  await write({ local: undefined })
  expect((await read()).stored).toMatchObject({ record: { status: Status.ACTIVE }, local: undefined })
})

test("the list of members is written once an epoch, because the record names the generation of its write", async () => {
  const opened = door()
  const advance = (changes: Partial<LocalGroup>) =>
    opened.change(async (stored) => ({
      next: { ...stored, record, local: { ...local, ...changes } },
      result: undefined,
    }))
  await advance({})
  const members = await rowOf(named.members)
  await opened.change(async (stored) => ({
    next: { ...stored, ...(stored.local && { local: { ...stored.local, processedSeq: 5n } }) },
    result: undefined,
  }))
  expect((await read()).stored.local?.processedSeq).toBe(5n)
  expect(await rowOf(named.members)).toEqual(members)
  await advance({ group: other, treeHash: treeHashOf({ group: other }) })
  expect(await rowOf(named.members)).not.toEqual(members)
})

test.each<[string, Partial<StoredConversation>, () => Promise<Op>, string]>([
  ["without its record", {}, async () => gone(named.record), "has no record"],
  ["without its tree", {}, async () => gone(named.tree), "different generations"],
  ["with another tree", {}, () => rows.putBytes({ space, ...named.tree }, encodeEpoch(other)), "different generations"],
  ["without its staged commit", { staged }, async () => gone(named.staged), "different generations"],
  [
    "with a staged commit that its record does not name",
    {},
    () => rows.put({ space, ...named.staged }, StagedCommitSchema, staged),
    "different generations",
  ],
  [
    "with another staged commit",
    { staged },
    () => rows.put({ space, ...named.staged }, StagedCommitSchema, { commitHash: world.bytes32(4) }),
    "different generations",
  ],
  [
    "with a record of another generation",
    {},
    () => rows.put({ space, ...named.record }, ConversationRecordSchema, { ...record, generation: 9n }),
    "another generation",
  ],
])("a state %s is refused", async (_, stored, change, message) => {
  await write(stored)
  await read()
  await overwrite(await change())
  await expect(read()).rejects.toMatchObject(tampered(message))
})

test("an older record is refused with a newer state, alone, and in a list", async () => {
  await write({})
  const before = await rowOf(named.record)
  await write({ record: create(ConversationRecordSchema, { status: Status.QUARANTINED }) })
  await overwrite({ op: "put", ...named.record, value: before })
  for (const work of [read(), door().record(), door().summary()]) {
    await expect(work).rejects.toMatchObject(tampered("another generation"))
  }
})

test("a record without a generation is accepted only from an earlier version", async () => {
  const unbound = () => rows.put({ space, ...named.record }, ConversationRecordSchema, record)
  await write({})
  await overwrite(await unbound())
  // The state names its generation, and the device states that all records do.
  await expect(read(false)).rejects.toMatchObject(tampered("another generation"))
  await overwrite(gone(named.state))
  await expect(read(true)).rejects.toMatchObject(tampered("another generation"))
  expect((await read(false)).stored.record?.status).toBe(Status.ACTIVE)
  expect(await door().record()).toBeUndefined()
})

test("a missing list of members, or one of another generation, is refused", async () => {
  await write({})
  const before = await rowOf(named.members)
  expect((await door().summary()).memberUserIds).toEqual([owner.userId])
  await overwrite(gone(named.members))
  await expect(door().summary()).rejects.toMatchObject(tampered("members is missing"))
  const later = { ...local, group: other, treeHash: treeHashOf({ group: other }) }
  await write({ local: later })
  await overwrite({ op: "put", ...named.members, value: before })
  await expect(door().summary()).rejects.toMatchObject({ name: "SecretBoxError", reason: "STATE_TAMPERED" })
})
