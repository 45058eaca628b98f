import { expect, test } from "vitest"
import { isSameDevice, issueDeviceCredential, verifyDeviceCredential } from "./device-credential.ts"
import type { Verify } from "./ed25519.ts"
import { hash } from "./hash.ts"
import { codeOf, codeOfAsync } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"

const { credentialBytes, credentialFields, credentialKey, credentialExpectation, day, id } = world

test("a credential's hash is that of its signed bytes", () => {
  const { body, hash: name } = verifyDeviceCredential(credentialBytes, credentialExpectation)
  expect(name).toEqual(hash("device-credential", credentialBytes))
  expect([body.userId, body.deviceId, body.serial]).toEqual([world.alice, world.phone, 3n])
})

test.each([
  ["for longer than 400 days", { notAfter: credentialFields.notBefore + 400n * day + 1n }, "CRED_MALFORMED"],
  ["that ends as it begins", { notAfter: credentialFields.notBefore }, "CRED_MALFORMED"],
  ["for a key that is no point", { leafSignatureKey: world.bytes32(0xff) }, "CRED_MALFORMED"],
  ["with an unknown flag", { flags: 8 }, "CPB_RANGE"],
  ["without a serial", { serial: 0n }, "CPB_REQUIRED"],
] as const)("a credential %s is not issued", async (_, change, code) => {
  const init = { ...credentialFields, ...change }
  expect(await codeOfAsync(() => issueDeviceCredential(init, credentialKey))).toBe(code)
})

test.each([
  ["issuerId", false],
  ["tenantId", false],
  ["appId", false],
  ["userId", false],
  ["deviceId", false],
  ["leafSignatureKey", true],
] as const)("a device with another %s is the same: %s", (field, same) => {
  const { body } = verifyDeviceCredential(credentialBytes, credentialExpectation)
  expect(isSameDevice(body, { ...body, [field]: id(9) })).toBe(same)
})

test("an asynchronous verifier is refused: a promise is not true", () => {
  // @ts-expect-error The compiler reports this; JavaScript callers have no compiler.
  const verify: Verify = async () => true
  expect(codeOf(() => verifyDeviceCredential(credentialBytes, { ...credentialExpectation, verify }))).toBe(
    "CRED_BAD_SIGNATURE",
  )
})
