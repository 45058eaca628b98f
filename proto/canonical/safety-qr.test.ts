import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { expect, test } from "vitest"
import { buildSafetyQr, checkSafetyQr, type SafetyView } from "./safety-qr.ts"
import { codeOf } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"

const alice = { userId: world.alice, fingerprint: world.bytes32(0x21), listVersion: 3n }
const bob = { userId: world.bob, fingerprint: world.bytes32(0x22), listVersion: 1n }
const scope = { tenantId: world.tenantId, appId: world.appId }
const onAlices: SafetyView = { ...scope, local: alice, remote: bob }
const onBobs: SafetyView = { ...scope, local: bob, remote: alice }
const shown = buildSafetyQr(onAlices)
const version2 = base64Encode(
  base64Decode(shown).map((byte, at) => (at === 1 ? 2 : byte)),
  "url",
)

test("Bob scans what Alice shows, and Alice what Bob shows", () => {
  expect(codeOf(() => checkSafetyQr(shown, onBobs))).toBe("ok")
  expect(codeOf(() => checkSafetyQr(buildSafetyQr(onBobs), onAlices))).toBe("ok")
})

test.each<[string, string, SafetyView, string]>([
  ["her own code", shown, onAlices, "QR_SAME_SIDE"],
  [
    "a code between Alice and somebody else",
    shown,
    { ...onBobs, local: { ...bob, userId: world.id(9) } },
    "QR_WRONG_USER",
  ],
  [
    "a code between somebody else and Bob",
    shown,
    { ...onBobs, remote: { ...alice, userId: world.id(9) } },
    "QR_WRONG_USER",
  ],
  ["a code of another tenant", shown, { ...onBobs, tenantId: world.id(9) }, "QR_WRONG_TENANT"],
  ["a code of a tenant outside any", shown, { ...onBobs, tenantId: undefined }, "QR_WRONG_TENANT"],
  ["a code of another app", shown, { ...onBobs, appId: world.id(9) }, "QR_WRONG_APP"],
  ["other keys of Alice", shown, { ...onBobs, remote: { ...alice, fingerprint: world.bytes32(9) } }, "QR_MISMATCH"],
  ["other keys of Bob", shown, { ...onBobs, local: { ...bob, fingerprint: world.bytes32(9) } }, "QR_MISMATCH"],
  ["newer devices of Alice", shown, { ...onBobs, remote: { ...alice, listVersion: 2n } }, "QR_OTHER_LIST_VERSION"],
  ["newer devices of Bob", shown, { ...onBobs, local: { ...bob, listVersion: 2n } }, "QR_OTHER_LIST_VERSION"],
  ["a code of a later version", version2, onBobs, "QR_VERSION"],
  ["half a code", shown.slice(0, 40), onBobs, "QR_MALFORMED"],
  ["a code that no bytes give", `${shown.slice(0, -2)}`, onBobs, "QR_MALFORMED"],
  ["a code with padding", `${shown}=`, onBobs, "QR_MALFORMED"],
  ["another code altogether", "https://example.org/", onBobs, "QR_MALFORMED"],
  ["nothing", "", onBobs, "QR_MALFORMED"],
])("%s: refused", (_, scanned, view, code) => {
  expect(codeOf(() => checkSafetyQr(scanned, view))).toBe(code)
})

test("unused bits of base64url must be zero", () => {
  const last = shown.at(-1) ?? ""
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  const other = `${shown.slice(0, -1)}${alphabet[alphabet.indexOf(last) + 1]}`
  expect(base64Decode(other)).toEqual(base64Decode(shown))
  expect(codeOf(() => checkSafetyQr(other, onBobs))).toBe("QR_MALFORMED")
})
