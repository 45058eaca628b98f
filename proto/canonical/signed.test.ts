import { create } from "@bufbuild/protobuf"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { EnvelopeAadV1Schema } from "@signet/proto/credential/v1/envelope_aad"
import { SignedBytesV1Schema } from "@signet/proto/credential/v1/signed"
import { expect, test } from "vitest"
import { toHex } from "./bytes.ts"
import { decode } from "./canonical.ts"
import { issueDeviceCredential } from "./device-credential.ts"
import { verifyEd25519 } from "./ed25519.ts"
import { keyIdOf } from "./hash.ts"
import { parseSigned, sign, signatureInput, signNow } from "./signed.ts"
import { codeOf } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"

const body = Uint8Array.of(8, 1)

test("the signature input is prefix, label, four bytes of length, and body", () => {
  const input = Buffer.from(signatureInput(DeviceCredentialBodyV1Schema, body))
  expect(input.toString("latin1")).toBe("SIGNET1\0device-credential/v1\0\0\0\0\x02\b\x01")
})

test("a signature of one kind of body does not verify for another kind", () => {
  const { sign: signWith, publicKey } = world.credentialKey
  const signature = signWith(signatureInput(DeviceCredentialBodyV1Schema, body))
  expect(verifyEd25519(publicKey, signatureInput(DeviceCredentialBodyV1Schema, body), signature)).toBe(true)
  expect(verifyEd25519(publicKey, signatureInput(CommitReceiptBodyV1Schema, body), signature)).toBe(false)
})

test("a message without a label cannot be signed", () => {
  expect(codeOf(() => signatureInput(EnvelopeAadV1Schema, body))).toBe("CPB_SCHEMA")
})

test("the envelope names the key, and sync and async signing agree", async () => {
  const message = create(CommitReceiptBodyV1Schema, { ...world.receiptFields, version: 1 })
  const now = signNow(CommitReceiptBodyV1Schema, message, world.receiptKey)
  const later = await sign(CommitReceiptBodyV1Schema, message, {
    publicKey: world.receiptKey.publicKey,
    sign: async (input) => world.receiptKey.sign(input),
  })
  expect(toHex(now)).toBe(toHex(later))
  expect(toHex(decode(SignedBytesV1Schema, now).keyId)).toBe(toHex(keyIdOf(world.receiptKey.publicKey)))
})

test("identical credentials are identical bytes, signature included", async () => {
  const again = await issueDeviceCredential(world.credentialFields, world.credentialKey)
  expect(toHex(again)).toBe(toHex(world.credentialBytes))
  expect(again.length).toBe(227)
})

test("an oversized body is refused before it is verified", () => {
  expect(codeOf(() => parseSigned(DeviceCredentialBodyV1Schema, world.proofBytes))).toBe("CPB_TOO_LARGE")
})
