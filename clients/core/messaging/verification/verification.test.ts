// Verification of users, also while another tab of this device stores a newer list.

import { create } from "@bufbuild/protobuf"
import { issueDeviceCredential } from "@signet/canonical/device-credential"
import { hash } from "@signet/canonical/hash"
import {
  VerificationRecord_Status as Status,
  type VerificationRecord,
  VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { isLong, sample } from "../../../../test/support/effort.ts"
import type { Context } from "../context.ts"
import { writeDeviceRows } from "../device/device-rows.ts"
import { idOf } from "../ids.ts"
import { deviceSpace } from "../store/store.ts"
import {
  conversation,
  device,
  fourth,
  later,
  listOf,
  ofStranger,
  otherFourth,
  own,
  set,
  theirs,
  third,
} from "../testing/compared-users.ts"
import { signedIdentity } from "../testing/signed-group.ts"
import { changePeer, comparedPeers, putChangedKey, putSeenKey, readPeer } from "./peer-rows.ts"
import { look, lookAgain, verification } from "./verification.ts"

const { listFields, alice, bytes32, now, credentialBytes } = world

test("a stored list version never decreases", async () => {
  const plain = await device()
  await look(plain.context, theirs)
  expect(await plain.stored()).toMatchObject({ listVersion: 4n, listHash: hash("device-list", fourth) })
  const raced = await device({ whileAsked: set(later) })
  await look(raced.context, theirs)
  expect(await raced.stored()).toMatchObject(later)
})

const compare = async ({ context }: { readonly context: Context }) => {
  const shown = await verification(context).of(theirs)
  return verification(context).markVerified(theirs, shown.safetyNumber)
}

test("a compared number is accepted, with spaces and line breaks", async () => {
  const one = await device()
  expect(await compare(one)).toMatchObject({ status: "verified", comparedBy: "number", listFault: undefined })
  const { safetyNumber } = await verification(one.context).of(theirs)
  await verification(one.context).markVerified(theirs, safetyNumber.replaceAll(" ", "\n"))
  const other = safetyNumber.replaceAll(/[0-9]/g, "0")
  await expect(verification(one.context).markVerified(theirs, other)).rejects.toMatchObject({
    reason: "COMPARISON_FAILED",
  })
})

test.each<[string, Partial<VerificationRecord>]>([
  ["a later list is stored", later],
  ["a contradiction is found", { listFault: "DEVICE_LIST_FORK" }],
])("a comparison is refused if %s meanwhile", async (_, change) => {
  const raced = await device({ whileSearched: set(change) })
  await expect(compare(raced)).rejects.toMatchObject({ reason: "COMPARISON_FAILED" })
  expect(await raced.stored()).toMatchObject({ ...change, acceptedKeys: [] })
})

test("another key of the same device, or the same key of another device, changes the number", async () => {
  const [lists, credentials] = [[third, fourth], [credentialBytes]]
  const one = await device({}, lists, credentials)
  const shown = verification(one.context)
  const numbers = [(await shown.of(theirs)).safetyNumber]
  const changes = [{ leafSignatureKey: bytes32(0x71) }, { deviceId: world.id(0x71) }]
  for (const [i, change] of changes.entries()) {
    const fields = { ...world.credentialFields, leafSignatureKey: bytes32(0x70 + i), serial: 4n + BigInt(i), ...change }
    const renewed = await issueDeviceCredential(fields, world.credentialKey)
    const [phone, ...others] = listFields.entries
    const { deviceId } = fields
    const entry = {
      ...(phone ?? expect.fail("no phone")),
      credentialHash: hash("device-credential", renewed),
      deviceId,
    }
    const ended = { ...entry, status: DeviceStatus.REVOKED, deviceId: world.credentialFields.deviceId }
    const entries = i === 0 ? [entry, ...others] : [ended, entry, ...others]
    const previousHash = hash("device-list", lists.at(-1) ?? third)
    lists.push(await listOf(alice, { listVersion: 5n + BigInt(i), previousHash, entries }))
    credentials.push(renewed)
    numbers.push((await shown.of(theirs)).safetyNumber)
  }
  expect(new Set(numbers).size).toBe(3)
})

test("a rolled back list is refused and reported, and its verified user is changed", async () => {
  const one = await device()
  await compare(one)
  const older = await device({}, [third])
  const context: Context = { ...one.context, calls: older.context.calls }
  await expect(look(context, theirs)).rejects.toMatchObject({ reason: "DEVICE_LIST_REFUSED", message: "LIST_ROLLBACK" })
  expect(await verification(context).status(theirs)).toBe("changed")
  expect(one.events).toEqual([{ is: "keysChanged", userId: theirs, deviceIds: [], listFault: "LIST_ROLLBACK" }])
})

test("an unverified user stays unverified after a rolled back list", async () => {
  const one = await device()
  await look(one.context, theirs)
  const older = await device({}, [third])
  const context: Context = { ...one.context, calls: older.context.calls }
  await expect(look(context, theirs)).rejects.toMatchObject({ reason: "DEVICE_LIST_REFUSED" })
  expect(await verification(context).status(theirs)).toBe("unverified")
})

test.runIf(isLong)("a verification shows its time, its method and its devices", async () => {
  const one = await device()
  expect(await verification(one.context).of(theirs)).toMatchObject({
    ...{ status: "unverified", comparedBy: undefined, comparedAtMs: undefined },
    devices: [{ deviceId: idOf("dev", world.phone), isCompared: false }],
  })
  const shown = await compare(one)
  expect(shown).toMatchObject({ comparedAtMs: Number(now) * 1_000, devices: [{ isCompared: true }] })
  expect(shown.devices).toHaveLength(1)
  await set({ status: Status.CHANGED })(one.context)
  expect(await verification(one.context).of(theirs)).toMatchObject({ status: "changed", comparedBy: "number" })
})

test.runIf(isLong)("the own QR code and malformed codes are refused", async () => {
  const { context } = await device()
  await expect(verification(context).qrCode(own)).rejects.toThrow(RangeError)
  await expect(verification(context).scan(own, "x")).rejects.toThrow(RangeError)
  await expect(verification(context).scan(theirs, "x")).rejects.toMatchObject({ reason: "COMPARISON_FAILED" })
  const mine = await verification(context).qrCode(theirs)
  await expect(verification(context).scan(theirs, mine)).rejects.toMatchObject({ reason: "COMPARISON_FAILED" })
  expect(await verification(context).status(theirs)).toBe("unverified")
})

test.each(
  sample<[string, (typeof third)[], string]>(1, [
    ["is rolled back", [third], "LIST_ROLLBACK"],
    ["is forked", [third, otherFourth], "DEVICE_LIST_FORK"],
  ]),
)("after a list that %s, the next comparison starts from the list of that time", async (_, lists, fault) => {
  const one = await device()
  await compare(one)
  const other = await device({}, lists)
  const context: Context = { ...one.context, calls: other.context.calls }
  await expect(look(context, theirs)).rejects.toMatchObject({ message: fault })
  expect(await one.stored()).toMatchObject({ status: Status.CHANGED, listFault: fault })
  expect(await verification(context).of(theirs)).toMatchObject({ status: "changed", listFault: fault })
  expect(await compare({ context })).toMatchObject({ status: "verified", listFault: undefined })
})

test("an invalid list is refused, and changes nothing", async () => {
  const one = await device()
  await compare(one)
  const other = await device({}, [third, fourth, ofStranger])
  const context: Context = { ...one.context, calls: other.context.calls }
  const refused = { reason: "DEVICE_LIST_REFUSED", message: "LIST_UNKNOWN_ISSUER_KEY" }
  await expect(look(context, theirs)).rejects.toMatchObject(refused)
  expect([await verification(context).status(theirs), one.events]).toEqual(["verified", []])
})

test("a network failure is no verdict about a list", async () => {
  const failing = await device({
    whileAsked: async () => {
      throw new Error("offline")
    },
  })
  await expect(look(failing.context, theirs)).rejects.toMatchObject({ name: "ConnectError" })
  expect(await failing.stored()).toBeUndefined()
})

test("only the lists of verified users are read again", async () => {
  let asked = 0
  const one = await device({
    whileAsked: async () => {
      asked++
    },
  })
  await lookAgain(one.context, theirs)
  await set({ status: Status.CHANGED })(one.context)
  await lookAgain(one.context, theirs)
  expect(asked).toBe(0)
  await set({ status: Status.VERIFIED })(one.context)
  await lookAgain(one.context, theirs)
  expect(asked).toBeGreaterThan(0)
})

test.runIf(isLong)("the next comparison includes keys that were added since", async () => {
  const one = await device()
  await compare(one)
  const key = { userId: theirs, deviceId: idOf("dev", world.id(0x68)), key: bytes32(2), seenAtMs: 1n }
  await changePeer(one.context, theirs, (before) => before, [await putChangedKey(one.context, key)])
  expect(await verification(one.context).status(theirs)).toBe("changed")
  expect(await compare(one)).toMatchObject({ status: "verified" })
})

test("a member device that no list names prevents a comparison", async () => {
  const one = await device()
  const ghost = await signedIdentity({ deviceId: world.id(0x68) })
  await conversation(one, {}, ghost)
  await expect(compare(one)).rejects.toMatchObject({ reason: "KEYS_NOT_COVERED" })
  const other = await device()
  // A device of another user, and this device.
  await conversation(other, {}, await signedIdentity({ userId: world.id(0x5a), deviceId: world.id(0x69) }))
  expect(await compare(other)).toMatchObject({ status: "verified" })
})

test("a key that joins while a comparison is stored is not verified", async () => {
  let isIn = false
  const one = await device({
    async whileSearched(context) {
      const { record } = await readPeer(context, theirs)
      if (record?.status !== Status.VERIFIED || isIn) return
      isIn = true
      await conversation(one, {}, await signedIdentity({ deviceId: world.id(0x68) }))
    },
  })
  expect(await compare(one)).toMatchObject({ status: "changed" })
  const changed = { is: "keysChanged", userId: theirs, deviceIds: [idOf("dev", world.id(0x68))], listFault: undefined }
  expect(one.events).toEqual([changed])
})

test("a user without a device list has no devices, and keeps the stored record", async () => {
  const one = await device({}, [], [])
  await set({ method: "number" })(one.context)
  expect(await look(one.context, theirs)).toMatchObject({ head: undefined, active: [] })
  expect(await one.stored()).toMatchObject({ method: "number", listVersion: 0n })
})

test("a backup has every user whose keys were compared, also one that an earlier version stored", async () => {
  const { context } = await device()
  const users = [0x61, 0x62, 0x63, 0x64, 0x65].map((value) => idOf("prn", world.id(value)))
  const statuses = [Status.VERIFIED, Status.CHANGED, Status.UNVERIFIED, Status.VERIFIED, Status.VERIFIED]
  const key = { deviceId: idOf("dev", world.id(0x68)), key: bytes32(2), seenAtMs: 1n }
  for (const [i, userId] of users.entries()) {
    const status = statuses[i] ?? Status.UNVERIFIED
    await changePeer(context, userId, (before) => create(VerificationRecordSchema, { ...before, status }))
  }
  const [verified, changed, , late, unnamed] = users
  // The record of an earlier version names no user.
  for (const { key: row, value } of await context.store.list(deviceSpace, "peer")) {
    const place = { space: deviceSpace, table: "peer", key: row } as const
    const record = await context.rows.read(place, VerificationRecordSchema, value)
    if (record.userId !== unnamed && record.userId !== late) continue
    const op = await context.rows.put(place, VerificationRecordSchema, { ...record, userId: "" })
    await writeDeviceRows(context, [op])
  }
  await writeDeviceRows(context, [await putSeenKey(context, { ...key, userId: late ?? "" })])
  await writeDeviceRows(context, [await putChangedKey(context, { ...key, userId: verified ?? "" })])
  const found = (await comparedPeers(context)).map(({ userId, record }) => [userId, record.userId, record.status])
  expect(found.sort()).toEqual([
    [verified, verified, Status.CHANGED],
    [changed, changed, Status.CHANGED],
    [late, late, Status.VERIFIED],
  ])
})

test.runIf(isLong)(
  "a comparison confirms the resets of the direct conversation with that user, and of no other",
  async () => {
    const [with_, without] = [await device(), await device()]
    const asked = { isDirect: true, asksConfirmation: true }
    const id = await conversation(with_, { ...asked, directUserIds: [own, theirs] })
    await conversation(without, { ...asked, directUserIds: [own, idOf("prn", world.id(0x5a))] })
    for (const one of [with_, without]) await compare(one)
    const asks = async ({ context }: typeof with_) => (await context.conversation(id).stored()).record?.asksConfirmation
    expect([await asks(with_), await asks(without)]).toEqual([false, true])
  },
)

test("the members of a group share a group code", async () => {
  const one = await device()
  const id = await conversation(one, {})
  expect(await verification(one.context).groupCode(id)).toMatch(/^[0-9 ]+$/)
  const away = (await device()).context
  await expect(verification(away).groupCode(id)).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
})
