// The reported keys, depending on the compared ones.
import { create } from "@bufbuild/protobuf"
import {
  ConversationRecordSchema,
  VerificationRecord_Status as Status,
  type VerificationRecord,
  VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import { beforeEach, expect, test } from "vitest"
import { alice, bob, bytes32, id, phone } from "../../../../proto/canonical/testing/world.ts"
import type { Context } from "../context.ts"
import { idOf } from "../ids.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { deviceSpace, type Op } from "../store/store.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import { testBox } from "../testing/test-box.ts"
import { deviceKeysIn, ensureCompared, noticeKeys } from "./noticing.ts"
import {
  asksConfirmation,
  changedKeys,
  changePeer,
  putChangedKey,
  readPeer,
  removeChangedKey,
  statusOf,
} from "./peer-rows.ts"

const [own, theirs, others] = [idOf("prn", bob), idOf("prn", alice), idOf("prn", id(0x5a))]
const deviceId = idOf("dev", phone)
const compared = { userId: theirs, deviceId, key: bytes32(1) }
const unknown = { userId: theirs, deviceId, key: bytes32(2) }

const open = () => {
  const rows = sealedRows(testBoxOf, { app: "app", user: "user" })
  const clock = { nowMs: () => 5, after: () => () => undefined }
  // Only the id of a device is needed here.
  const device = { id: idOf("dev", id(0x68)) } as Context["device"]
  return { store: openMemoryStore(), rows, clock, device }
}
const testBoxOf = testBox()
await testBoxOf.createKey({ app: "app", user: "user" })
let context: ReturnType<typeof open>
beforeEach(() => {
  context = open()
})

const set = (change: Partial<VerificationRecord>, userId = theirs) =>
  changePeer(context, userId, (before) => create(VerificationRecordSchema, { ...before, ...change }))
const accept = () => set({ status: Status.VERIFIED, acceptedKeys: [compared.key] })
async function write(ops: readonly Op[]): Promise<void> {
  const { generation } = await context.store.read(deviceSpace, [])
  expect(await context.store.transact(deviceSpace, generation, ops)).toBe("ok")
}

test("only uncompared keys of verified users are reported, each once", async () => {
  expect(await noticeKeys(context, [unknown])).toEqual({ ops: [], events: [] })
  await set({ status: Status.CHANGED, acceptedKeys: [compared.key] })
  expect(await noticeKeys(context, [unknown])).toEqual({ ops: [], events: [] })
  await accept()
  expect(await noticeKeys(context, [compared, { ...unknown, userId: others }])).toEqual({ ops: [], events: [] })
  const told = await noticeKeys(context, [compared, unknown])
  expect(told.events).toEqual([{ is: "keysChanged", userId: theirs, deviceIds: [deviceId], listFault: undefined }])
  expect(statusOf(await readPeer(context, theirs))).toBe("verified")
  await write(told.ops)
  expect(statusOf(await readPeer(context, theirs))).toBe("changed")
  const again = await noticeKeys(context, [unknown])
  expect([again.events, again.ops.length]).toEqual([[], 1])
  // Another key of the same device counts separately.
  expect((await noticeKeys(context, [unknown, { ...unknown, key: bytes32(3) }])).events).toHaveLength(1)
})

test("keys after a comparison are stored by user, and removed individually", async () => {
  const keys = Array.from({ length: 60 }, (_, i) => ({ ...unknown, key: bytes32(i + 10), seenAtMs: 1n }))
  for (const key of keys) await write([await putChangedKey(context, key)])
  await write([await putChangedKey(context, { ...unknown, userId: others, seenAtMs: 1n })])
  expect(await changedKeys(context, theirs)).toHaveLength(60)
  expect(await changedKeys(context, others)).toHaveLength(1)
  expect(await changedKeys(context, own)).toEqual([])
  await write(keys.slice(1).map(removeChangedKey))
  expect((await changedKeys(context, theirs)).map(({ key }) => key)).toEqual([bytes32(10)])
})

test("an unchanged record is not written, and a change is repeated after a conflict", async () => {
  const generation = async () => (await context.store.read(deviceSpace, [])).generation
  const before = await generation()
  await changePeer(context, theirs, (record) => record)
  expect(await generation()).toBe(before)
  await changePeer(context, theirs, (record) => record, [await putChangedKey(context, { ...unknown, seenAtMs: 1n })])
  expect(await changedKeys(context, theirs)).toHaveLength(1)
  const { transact } = context.store
  let tries = 0
  context.store = {
    ...context.store,
    async transact(...of) {
      tries++
      if (tries === 1) await transact(deviceSpace, await generation(), [])
      return transact(...of)
    },
  }
  await set({ listVersion: 7n })
  expect([tries, (await readPeer(context, theirs)).record?.listVersion]).toEqual([2, 7n])
  context.store = { ...context.store, transact: async () => "GENERATION_MISMATCH" }
  await expect(set({ listVersion: 8n })).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test("sending is refused if a member's keys or the group differ from the compared ones", async () => {
  const [mine, alices] = [await signedIdentity({ userId: bob, deviceId: id(0x68) }), await signedIdentity()]
  const first = await engine.createGroup({ groupId: bytes32(9), identity: mine, ...lifetime })
  const { keyPackage } = await engine.newKeyPackage(alices, lifetime)
  const { next: group } = await engine.add(first, [keyPackage], { aad: new Uint8Array() })
  expect(deviceKeysIn(context, group)).toEqual([{ userId: theirs, deviceId, key: alices.signatureKey }])
  const refused = { reason: "KEYS_CHANGED" }
  await ensureCompared(context, undefined, group)
  await set({ status: Status.VERIFIED, acceptedKeys: [alices.signatureKey] })
  // The record of a user who is no member.
  await set({ status: Status.CHANGED }, others)
  await ensureCompared(context, create(ConversationRecordSchema), group)
  const asked = create(ConversationRecordSchema, { asksConfirmation: true })
  await expect(ensureCompared(context, asked, group)).rejects.toMatchObject(refused)
  await write([await putChangedKey(context, { ...unknown, seenAtMs: 1n })])
  await expect(ensureCompared(context, undefined, group)).rejects.toMatchObject(refused)
})

test.each<[string, Status, boolean]>([
  ["verified", Status.VERIFIED, true],
  ["changed", Status.CHANGED, true],
  ["not verified", Status.UNVERIFIED, false],
])("after a reset, a peer whose keys are %s (status %d) must be compared again: %s", async (_, status, isAsked) => {
  const needs = { ...context, owner: { userId: own } as Context["owner"] }
  const direct = create(ConversationRecordSchema, { directUserIds: [own, theirs] })
  await set({ status: Status.VERIFIED }, own)
  expect(await asksConfirmation(needs, direct)).toBe(false)
  await set({ status })
  expect(await asksConfirmation(needs, direct)).toBe(isAsked)
  expect(await asksConfirmation(needs, create(ConversationRecordSchema, { asksConfirmation: true }))).toBe(true)
})
