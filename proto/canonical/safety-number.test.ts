import { expect, test } from "vitest"
import { toHex } from "./bytes.ts"
import { deviceFingerprint, digits, safetyNumber, userFingerprint } from "./safety-number.ts"
import * as world from "./testing/world.ts"

const alice = { tenantId: world.tenantId, appId: world.appId, userId: world.alice }
const bob = { ...alice, userId: world.bob }
const phone = { deviceId: world.phone, leafKey: world.leaf.publicKey }
const tablet = { deviceId: world.id(0x60), leafKey: world.otherLeaf.publicKey }
const fingerprint = userFingerprint(alice, [phone, tablet])

test("both sides see the same 60 digits", () => {
  const other = userFingerprint(bob, [phone])
  const number = safetyNumber(fingerprint, other)
  expect(number).toBe(safetyNumber(other, fingerprint))
  expect(number).toMatch(/^(\d{5} ){11}\d{5}$/)
})

test("the order of devices does not change the fingerprint", () => {
  expect(toHex(userFingerprint(alice, [tablet, phone]))).toBe(toHex(fingerprint))
})

test.each([
  ["a device fewer", alice, [phone]],
  ["another key on a device", alice, [phone, { ...tablet, leafKey: world.strangerKey.publicKey }]],
  ["another device with the same key", alice, [phone, { ...tablet, deviceId: world.id(1) }]],
  ["another user", bob, [phone, tablet]],
  ["another app", { ...alice, appId: world.id(9) }, [phone, tablet]],
  ["no tenant", { ...alice, tenantId: undefined }, [phone, tablet]],
] as const)("%s is another fingerprint", (_, user, devices) => {
  expect(toHex(userFingerprint(user, devices))).not.toBe(toHex(fingerprint))
})

test.each([
  ["another user", bob, phone],
  ["another device", alice, { ...phone, deviceId: world.id(1) }],
  ["another key", alice, tablet],
] as const)("%s is another device fingerprint", (_, user, device) => {
  expect(toHex(deviceFingerprint(user, device))).not.toBe(toHex(deviceFingerprint(alice, phone)))
})

test("five bytes are five digits with leading zeros, and remaining bytes are ignored", () => {
  expect(digits(Uint8Array.of(0, 0, 0, 0, 7, 0, 0, 1, 134, 160, 255, 255, 255, 255, 255, 1, 2))).toBe(
    "00007 00000 27775",
  )
})

test("five bytes are five digits, and fewer bytes are none", () => {
  expect(digits(Uint8Array.of(0, 0, 0, 0, 7))).toBe("00007")
  expect(digits(Uint8Array.of(0, 0, 0, 1, 0, 9))).toBe("00256")
})
