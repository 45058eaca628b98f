import { expect, test } from "vitest"
import { verifyDeviceCredential } from "./device-credential.ts"
import { type Verify, verifyEd25519 } from "./ed25519.ts"
import { codeOf } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"
import { rememberVerdicts } from "./verdict-cache.ts"

function counted(): { verify: Verify; calls: () => number } {
  let calls = 0
  const verify: Verify = (...parts) => {
    calls++
    return verifyEd25519(...parts)
  }
  return { verify, calls: () => calls }
}
const { publicKey, sign } = world.leaf
const message = world.id(1)
const signature = sign(message)

test("a result is computed once, valid or not", () => {
  const { verify, calls } = counted()
  const remembered = rememberVerdicts(verify)
  for (let i = 0; i < 3; i++) {
    expect(remembered(publicKey, message, signature)).toBe(true)
    expect(remembered(publicKey, world.id(2), signature)).toBe(false)
  }
  expect(calls()).toBe(2)
})

test("the least recently used result is evicted", () => {
  const { verify, calls } = counted()
  const remembered = rememberVerdicts(verify, 2)
  const ask = (value: number) => remembered(publicKey, world.id(value), signature)
  ask(1)
  ask(2)
  ask(1)
  ask(3)
  expect(calls()).toBe(3)
  ask(1)
  expect(calls()).toBe(3)
  ask(2)
  expect(calls()).toBe(4)
})

test("a cached signature does not bypass a credential's expiry or revocation", () => {
  const verify = rememberVerdicts(verifyEd25519)
  const expected = { ...world.credentialExpectation, verify }
  const { credentialBytes, credentialFields } = world
  expect(codeOf(() => verifyDeviceCredential(credentialBytes, expected))).toBe("ok")
  const later = { ...expected, atSeconds: credentialFields.notAfter }
  expect(codeOf(() => verifyDeviceCredential(credentialBytes, later))).toBe("CRED_EXPIRED")
  const revoked = { ...expected, isRevoked: () => true }
  expect(codeOf(() => verifyDeviceCredential(credentialBytes, revoked))).toBe("CRED_REVOKED")
})
