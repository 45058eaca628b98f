// The announced keys in groups whose credentials a malicious service has signed.
import { create } from "@bufbuild/protobuf"
import { issueDeviceCredential } from "@signet/canonical/device-credential"
import {
  ConversationRecordSchema,
  VerificationRecord_Status as Status,
  VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import type { NewKey } from "../events.ts"
import { idOf } from "../ids.ts"
import type { GroupState } from "../mls.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { lifetime, testEngine } from "../testing/our-seat.ts"
import { testBox } from "../testing/test-box.ts"
import { type KeyWatch, watchKeys } from "./new-keys.ts"
import { changePeer, putSeenKey } from "./peer-rows.ts"

const suite = makeNodeSuite()
const { alice, bob, credentialFields, credentialKey, id } = world
const [first, second] = [id(0x51), id(0x52)]
const newKey = () => suite.signatureKeyPair()

/** A group with one member, whose credential names this user, device and key. */
async function groupOf(
  userId: Uint8Array,
  deviceId: Uint8Array,
  { seed, publicKey }: Awaited<ReturnType<typeof newKey>>,
): Promise<GroupState> {
  const fields = { ...credentialFields, userId, deviceId, leafSignatureKey: publicKey }
  const credential = await issueDeviceCredential(fields, credentialKey)
  const identity = { credential, signatureKey: publicKey, key: seed }
  return testEngine(suite).createGroup({ groupId: new Uint8Array(32), identity, ...lifetime })
}

/** A device of this user, without conversations. */
async function newContext() {
  const [box, scope] = [testBox(), { app: "app", user: "user" }]
  await box.createKey(scope)
  return {
    store: openMemoryStore(),
    rows: sealedRows(box, scope),
    clock: { nowMs: () => 0 },
    device: { id: idOf("dev", id(0x59)) },
  }
}

/** The announcements for consecutive groups of one conversation, as [user, device, what]. */
async function announced(...groups: readonly GroupState[]) {
  return (await announcedIn(await newContext(), ...groups)).map(({ userId, deviceId, what }) => [
    userId,
    deviceId,
    what,
  ])
}

async function announcedIn(context: Awaited<ReturnType<typeof newContext>>, ...groups: readonly GroupState[]) {
  const keys: KeyWatch = watchKeys(context, idOf("cnv", world.conversationId))
  const stored = { record: create(ConversationRecordSchema), local: undefined, staged: undefined }
  const found: NewKey[] = []
  for (const group of groups) {
    for (const entry of await keys.see(stored, group, { seq: 1n, atMs: 0 })) {
      if (entry.is !== "newKeys") continue
      found.push(...entry.devices)
    }
  }
  return found
}

test("a device and key that are certified for another known user are a new device of that user", async () => {
  const [alices, bobs] = [await newKey(), await newKey()]
  const groups = [groupOf(alice, first, alices), groupOf(bob, second, bobs), groupOf(bob, first, alices)]
  expect(await announced(...(await Promise.all(groups)))).toEqual([[idOf("prn", bob), idOf("dev", first), "newDevice"]])
})

test("a device that was temporarily attributed to another user is compared with its own former key", async () => {
  const [bobs, alices, others] = [await newKey(), await newKey(), await newKey()]
  const back = [groupOf(bob, first, bobs), groupOf(alice, first, alices), groupOf(bob, first, bobs)]
  expect(await announced(...(await Promise.all(back)))).toEqual([])
  const changed = [...back.slice(0, 2), groupOf(bob, first, others)]
  expect(await announced(...(await Promise.all(changed)))).toEqual([
    [idOf("prn", bob), idOf("dev", first), "changedKey"],
  ])
})

test.each([
  ["was compared", Status.VERIFIED],
  ["was compared, and has changed since", Status.CHANGED],
])("the first keys of a user who %s are announced", async (_, status) => {
  const context = await newContext()
  const record = create(VerificationRecordSchema, { status, acceptedKeys: [new Uint8Array(32)] })
  await changePeer(context, idOf("prn", bob), () => record)
  const group = await groupOf(bob, first, await newKey())
  expect(await announcedIn(context, group)).toEqual([
    { userId: idOf("prn", bob), deviceId: idOf("dev", first), what: "newDevice", wasVerified: true },
  ])
  expect(await announced(group)).toEqual([])
})

test("each key of each device of each user has a stored row of its own", async () => {
  const [box, scope] = [testBox(), { app: "app", user: "user" }]
  await box.createKey(scope)
  const context = { store: openMemoryStore(), rows: sealedRows(box, scope) }
  const one = { userId: idOf("prn", bob), deviceId: idOf("dev", first), key: new Uint8Array([1]), seenAtMs: 0n }
  const others = [{ userId: idOf("prn", alice) }, { deviceId: idOf("dev", second) }, { key: new Uint8Array([2]) }]
  const ops = await Promise.all(
    [one, ...others.map((other) => ({ ...one, ...other }))].map((key) => putSeenKey(context, key)),
  )
  expect(new Set(ops.map(({ key }) => key)).size).toBe(4)
})
