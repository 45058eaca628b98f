// Two people compare safety numbers, and get a warning when the compared keys change.
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { decode, encode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import { DeviceListBodyV1Schema } from "@signet/proto/credential/v1/device_list"
import { SafetyQrV1Schema } from "@signet/proto/credential/v1/safety_qr"
import type { ListDeviceListsResponse, ListDevicesResponse } from "@signet/proto/messaging/v1/device_service"
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { idOf } from "../../clients/core/messaging/ids.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { renewCredential } from "../../clients/core/messaging/sync/sync.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
let id: string
let lying: LyingTransport
let told: MessengerEvent[]
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
})
// New people for each test, because a verification is stored.
let count = 0
beforeEach(async () => {
  lying = lyingTransport(messengers.transport)
  ann = await messengers.newcomer(`ann ${count}`, { transport: lying })
  ben = await messengers.newcomer(`ben ${count++}`)
  id = (await ann.messenger.createDirectConversation(ben.person.userId)).id
  await ben.messenger.sync()
  await ann.messenger.sync()
  told = []
  ann.messenger.subscribe((event) => told.push(event))
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const compare = async (opened: OpenedMessenger, other: OpenedMessenger) => {
  const { safetyNumber } = await opened.messenger.verification.of(other.person.userId)
  return opened.messenger.verification.markVerified(other.person.userId, safetyNumber)
}
const statusOfBen = () => ann.messenger.verification.status(ben.person.userId)
const kinds = () => told.map((event) => (event.is === "entry" ? event.entry.is : event.is))
/** A second device of Ben, which is added. */
async function secondDevice(): Promise<OpenedMessenger> {
  const second = await messengers.open(await ben.person.again())
  await second.messenger.sync()
  await ben.messenger.sync()
  await second.messenger.sync()
  return second
}
const isLists = (answer: object): answer is ListDeviceListsResponse => "deviceLists" in answer
const isOf = ({ deviceLists: [signed] }: ListDeviceListsResponse, { person }: OpenedMessenger) => {
  const schema = DeviceListBodyV1Schema
  return signed !== undefined && idOf("prn", decode(schema, parseSigned(schema, signed).body).userId) === person.userId
}
const isDevices = (answer: object): answer is ListDevicesResponse => "devices" in answer && "nextPageToken" in answer

test("two people who compare see the same sixty digits, and confirm by number or by code", async () => {
  const { verification } = ann.messenger
  const seen = await verification.of(ben.person.userId)
  expect(seen).toMatchObject({ status: "unverified", comparedBy: undefined, listFault: undefined })
  expect(seen.safetyNumber).toMatch(/^([0-9]{5} ){11}[0-9]{5}$/)
  expect(seen.devices).toEqual([
    {
      deviceId: ben.messenger.deviceId,
      fingerprint: expect.stringMatching(/^([0-9]{5} ){5}[0-9]{5}$/),
      isCompared: false,
    },
  ])
  expect((await ben.messenger.verification.of(ann.person.userId)).safetyNumber).toBe(seen.safetyNumber)
  expect(await verification.markVerified(ben.person.userId, seen.safetyNumber)).toMatchObject({
    status: "verified",
    comparedBy: "number",
    devices: [{ isCompared: true }],
  })
  const code = await verification.qrCode(ben.person.userId)
  const scanned = await ben.messenger.verification.scan(ann.person.userId, code)
  expect(scanned).toMatchObject({ status: "verified", comparedBy: "qr" })
  expect(await ann.messenger.verification.groupCode(id)).toBe(await ben.messenger.verification.groupCode(id))
  // It is still there after a restart, on this device only.
  const again = await messengers.open(ann.person, ann)
  expect(await again.messenger.verification.status(ben.person.userId)).toBe("verified")
})

const inScript = (zero: number) => (number: string) =>
  number.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(zero + Number(digit)))
const wrongNumbers: Record<string, (number: string) => string> = {
  "one different digit": (number) => (number.startsWith("1") ? "2" : "1") + number.slice(1),
  less: (number) => number.slice(0, -1),
  nothing: () => "",
  "digits of another script": inScript(0x660),
  "wide digits": inScript(0xff10),
  "an invisible character in between": (number) => `${number.slice(0, 9)}\u200b${number.slice(9)}`,
}

test.runIf(isLong)("a text that differs from the number in any digit is refused", async () => {
  const { safetyNumber } = await ann.messenger.verification.of(ben.person.userId)
  for (const [what, change] of Object.entries(wrongNumbers)) {
    const marking = ann.messenger.verification.markVerified(ben.person.userId, change(safetyNumber))
    await expect(marking, what).rejects.toMatchObject({ reason: "COMPARISON_FAILED" })
  }
  expect(await statusOfBen()).toBe("unverified")
})

test.runIf(isLong)("a code is accepted only from the other side, for these two people and these keys", async () => {
  const { verification } = ann.messenger
  const cid = await messengers.newcomer(`cid ${count++}`)
  await cid.messenger.createDirectConversation(ann.person.userId)
  const scan = (code: string) => verification.scan(ben.person.userId, code)
  const refused = (cause: string) => ({ reason: "COMPARISON_FAILED", cause: expect.objectContaining({ code: cause }) })
  await expect(scan(await verification.qrCode(ben.person.userId))).rejects.toMatchObject(refused("QR_SAME_SIDE"))
  await expect(scan(await cid.messenger.verification.qrCode(ann.person.userId))).rejects.toMatchObject(
    refused("QR_WRONG_USER"),
  )
  const code = decode(SafetyQrV1Schema, base64Decode(await ben.messenger.verification.qrCode(ann.person.userId)))
  const changed = (change: Partial<typeof code>) =>
    scan(base64Encode(encode(SafetyQrV1Schema, { ...code, ...change }), "url"))
  const other = new Uint8Array(16).fill(1)
  await expect(changed({ appId: other })).rejects.toMatchObject(refused("QR_WRONG_APP"))
  await expect(changed({ tenantId: other })).rejects.toMatchObject(refused("QR_WRONG_TENANT"))
  const replaced = { localFingerprint: new Uint8Array(32).fill(1) }
  await expect(changed(replaced)).rejects.toMatchObject(refused("QR_MISMATCH"))
  const later = { localListVersion: code.localListVersion + 1n }
  await expect(changed(later)).rejects.toMatchObject(refused("QR_OTHER_LIST_VERSION"))
  await expect(scan("not a code")).rejects.toMatchObject(refused("QR_MALFORMED"))
  await expect(verification.qrCode(ann.person.userId)).rejects.toThrow(RangeError)
  expect(await statusOfBen()).toBe("unverified")
})

test.runIf(isLong)(
  "a verified person's new device is reported before its messages, and the warning stays",
  async () => {
    await compare(ann, ben)
    const second = await secondDevice()
    await second.messenger.send(id, utf8("it is me"))
    await ann.messenger.sync()
    expect(kinds()).toEqual(["keysChanged", "newKeys", "membership", "message"])
    expect(told[0]).toMatchObject({ userId: ben.person.userId, deviceIds: [second.messenger.deviceId] })
    expect(await statusOfBen()).toBe("changed")
    // Also after its removal, and after a restart.
    await ben.messenger.revokeDevice(second.messenger.deviceId)
    await ben.messenger.sync()
    await ann.messenger.sync()
    expect(await statusOfBen()).toBe("changed")
    expect(await (await messengers.open(ann.person, ann)).messenger.verification.status(ben.person.userId)).toBe(
      "changed",
    )
    await compare(ann, ben)
    expect(await statusOfBen()).toBe("verified")
  },
)

test.runIf(isLong)("a new key of the same device changes the status", async () => {
  await compare(ann, ben)
  const { context } = await openContext(...messengers.optionsFor(ben.person, ben))
  await renewCredential(context)
  await ben.messenger.sync()
  await ann.messenger.sync()
  expect(await ann.messenger.verification.of(ben.person.userId)).toMatchObject({
    status: "changed",
    devices: [{ deviceId: ben.messenger.deviceId, isCompared: false }],
  })
  expect(kinds()).toContain("keysChanged")
})

test.runIf(isLong)("a new device in a group that one is invited to is reported before its messages", async () => {
  await compare(ann, ben)
  const second = await messengers.open(await ben.person.again())
  await second.messenger.sync()
  const cid = await messengers.newcomer(`cid ${count++}`)
  const { id: other } = await cid.messenger.createGroupConversation([ben.person.userId])
  await second.messenger.sync()
  await cid.messenger.addMembers(other, [ann.person.userId])
  await second.messenger.sync()
  await second.messenger.send(other, utf8("it is me"))
  await ann.messenger.sync()
  const ofThis = told.filter((event) => event.is !== "entry" || event.conversationId === other)
  expect(ofThis.map((event) => (event.is === "entry" ? event.entry.is : event.is))).toEqual([
    ...["keysChanged", "newKeys", "status", "message"],
  ])
  expect(ofThis[0]).toMatchObject({ userId: ben.person.userId, deviceIds: [second.messenger.deviceId] })
  expect(await statusOfBen()).toBe("changed")
})

test.runIf(isLong)("the device list alone reveals a new device, too", async () => {
  await compare(ann, ben)
  const second = await messengers.open(await ben.person.again())
  expect(await ann.messenger.verification.of(ben.person.userId)).toMatchObject({
    status: "changed",
    devices: expect.arrayContaining([
      expect.objectContaining({ deviceId: second.messenger.deviceId, isCompared: false }),
    ]),
  })
  expect(kinds()).toEqual(["keysChanged"])
})

/** Ann's messenger that refuses to send to changed keys. It is closed after the test. */
async function openStrict(): Promise<Messenger> {
  const [options, primitives] = messengers.optionsFor(ann.person, ann)
  const strict = await createMessengerWith({ ...options, whenKeysChange: "refuse" }, primitives)
  onTestFinished(() => strict.close())
  return strict
}

test.runIf(isLong)(
  "with the strict setting nothing is sent to changed keys until they are verified again",
  async () => {
    await compare(ann, ben)
    await secondDevice()
    const strict = await openStrict()
    await strict.sync()
    await expect(strict.send(id, utf8("secret"))).rejects.toMatchObject({ reason: "KEYS_CHANGED" })
    const { safetyNumber } = await strict.verification.of(ben.person.userId)
    await strict.verification.markVerified(ben.person.userId, safetyNumber)
    expect((await strict.send(id, utf8("secret"))).seq).toBeGreaterThan(0n)
  },
)

test.runIf(isLong)(
  "with the strict setting a message that was stored before keys changed waits for the verification, too",
  async () => {
    await compare(ann, ben)
    const strict = await openStrict()
    await strict.encryptMessage(id, utf8("stored"))
    const second = await secondDevice()
    await strict.sync().catch(() => undefined)
    const readers = async () => {
      for (const one of [ben, second]) await one.messenger.sync()
      return Promise.all([ben, second].map(async (one) => (await textsIn(one, id)).includes("stored")))
    }
    expect(await readers()).toEqual([false, false])
    const { safetyNumber } = await strict.verification.of(ben.person.userId)
    await strict.verification.markVerified(ben.person.userId, safetyNumber)
    await strict.sync()
    expect(await readers()).toEqual([true, true])
  },
)

test.runIf(isLong)(
  "a device in a conversation that is in no device list is a ghost: there is no number to compare",
  async () => {
    const second = await secondDevice()
    await ann.messenger.sync()
    // The service answers with the earlier list.
    lying.bend = {
      method: "ListDeviceLists",
      answer(answer) {
        if (!isLists(answer) || !isOf(answer, ben)) return
        answer.deviceLists = answer.deviceLists.slice(0, 1)
        answer.newestVersion = 1n
      },
    }
    const { safetyNumber, devices } = await ann.messenger.verification.of(ben.person.userId)
    expect(devices.map(({ deviceId }) => deviceId)).not.toContain(second.messenger.deviceId)
    const marking = ann.messenger.verification.markVerified(ben.person.userId, safetyNumber)
    await expect(marking).rejects.toMatchObject({ reason: "KEYS_NOT_COVERED" })
    expect(await statusOfBen()).toBe("unverified")
  },
)

test.runIf(isLong).each([
  ["who was verified", "changed", true],
  ["who was not", "unverified", false],
])("an older device list of somebody %s is refused, and the refusal is stored", async (_, status, isCompared) => {
  await messengers.open(await ben.person.again())
  if (isCompared) await compare(ann, ben)
  else await ann.messenger.verification.of(ben.person.userId)
  lying.bend = {
    method: "ListDeviceLists",
    answer(answer) {
      if (!isLists(answer) || !isOf(answer, ben)) return
      answer.deviceLists = []
      answer.newestVersion = 1n
    },
  }
  await expect(ann.messenger.verification.of(ben.person.userId)).rejects.toMatchObject({
    reason: "DEVICE_LIST_REFUSED",
    cause: { code: "LIST_ROLLBACK" },
  })
  expect(told).toEqual([{ is: "keysChanged", userId: ben.person.userId, deviceIds: [], listFault: "LIST_ROLLBACK" }])
  expect(await statusOfBen()).toBe(status)
  lying.bend = undefined
  expect(await ann.messenger.verification.of(ben.person.userId)).toMatchObject({
    status,
    listFault: "LIST_ROLLBACK",
  })
  expect(await compare(ann, ben)).toMatchObject({ status: "verified", listFault: undefined })
})

test.runIf(isLong).each<[string, (answer: ListDeviceListsResponse) => void, string]>([
  ["that is not signed", ({ deviceLists }) => flip(deviceLists.at(-1)), "LIST_"],
  ["that is another user's", (answer) => replaceAll(answer), "LIST_WRONG_USER"],
])("a list %s is refused, and what was compared stays compared", async (_, change, code) => {
  await compare(ann, ben)
  await messengers.open(await ben.person.again())
  const cid = await messengers.newcomer(`cid ${count++}`)
  const { context } = await openContext(...messengers.optionsFor(cid.person, cid))
  others = (await context.calls.devices.listDeviceLists({})).deviceLists
  lying.bend = { method: "ListDeviceLists", answer: (answer) => (isLists(answer) ? change(answer) : undefined) }
  const refused = ann.messenger.verification.of(ben.person.userId)
  await expect(refused).rejects.toMatchObject({ reason: "DEVICE_LIST_REFUSED", message: expect.stringContaining(code) })
  expect(await statusOfBen()).toBe("verified")
})
let others: Uint8Array[] = []
const flip = (bytes: Uint8Array | undefined) => {
  if (bytes !== undefined) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
}
const replaceAll = (answer: ListDeviceListsResponse) => {
  answer.deviceLists = others
}

test.runIf(isLong)("a device with another credential than the signed list has is not shown as the user's", async () => {
  lying.bend = {
    method: "ListDevices",
    answer(answer) {
      if (!isDevices(answer)) return
      for (const device of answer.devices) flip(device.credential)
    },
  }
  const refused = ann.messenger.verification.of(ben.person.userId)
  await expect(refused).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test.runIf(isLong)(
  "keys that changed during a comparison are not marked as verified, in any order of the answers",
  async () => {
    await compare(ann, ben)
    const stale: Partial<ListDeviceListsResponse> = {}
    lying.bend = {
      method: "ListDeviceLists",
      answer: (truth) => isLists(truth) && isOf(truth, ben) && Object.assign(stale, truth),
    }
    const { safetyNumber } = await ann.messenger.verification.of(ben.person.userId)
    const second = await messengers.open(await ben.person.again())
    let goOn = () => {}
    const gate = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const asked = new Promise<void>((resolve) => {
      lying.bend = {
        method: "ListDeviceLists",
        async answer(truth) {
          if (!isLists(truth) || !isOf(truth, ben)) return
          lying.bend = undefined
          Object.assign(truth, stale)
          resolve()
          await gate
        },
      }
    })
    const comparing = ann.messenger.verification.markVerified(ben.person.userId, safetyNumber)
    await asked
    await ann.messenger.verification.of(ben.person.userId)
    expect(await statusOfBen()).toBe("changed")
    goOn()
    await expect(comparing).rejects.toMatchObject({ reason: "COMPARISON_FAILED" })
    expect(await statusOfBen()).toBe("changed")
    await second.messenger.close()
  },
)
