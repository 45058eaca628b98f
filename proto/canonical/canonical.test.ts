import { create, equals, fromBinary } from "@bufbuild/protobuf"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { ConversationBindingV1Schema } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipProofBodyV1Schema, MembershipSubjectV1Schema } from "@signet/proto/credential/v1/policy_proof"
import { SignedBytesV1Schema } from "@signet/proto/credential/v1/signed"
import fc from "fast-check"
import { expect, test } from "vitest"
import { concat, toHex } from "./bytes.ts"
import { decode, encode } from "./canonical.ts"
import { messageOf, schemas } from "./testing/arbitrary.ts"
import { codeOf } from "./testing/code-of.ts"
import { samples } from "./testing/samples.ts"
import * as world from "./testing/world.ts"

const binding = { version: 1, appId: new Uint8Array(16).fill(1), conversationId: new Uint8Array(16).fill(2), kind: 2 }

test("an encoding has the present fields in ascending order", () => {
  const bytes = encode(ConversationBindingV1Schema, Object.assign(create(ConversationBindingV1Schema), binding))
  expect(toHex(bytes)).toBe(`0801${`1a10${"01".repeat(16)}`}${`2210${"02".repeat(16)}`}2802`)
})

test.each(schemas.map((schema) => [schema.name, schema] as const))("%s: decode(encode(x)) = x", (_, schema) => {
  fc.assert(
    fc.property(messageOf(schema), (message) => {
      expect(equals(schema, decode(schema, encode(schema, message)), message)).toBe(true)
    }),
    { numRuns: 200 },
  )
})

test.each(samples.map((sample) => [`${sample.file}, ${sample.name}`, sample] as const))(
  "%s: encode(decode(b)) = b, and any protobuf reader reads b",
  (_, { schema, bytes }) => {
    const message = decode(schema, bytes)
    expect(toHex(encode(schema, message))).toBe(toHex(bytes))
    expect(equals(schema, fromBinary(schema, bytes), message)).toBe(true)
  },
)

const subjectOf = (value: number) => {
  const credentialHash = new Uint8Array(32).fill(value)
  return create(MembershipSubjectV1Schema, { credentialHash, keyPackageRef: new Uint8Array(32).fill(1) })
}
const proofSample = (name: string) => {
  const bytes = samples.find((sample) => sample.name.startsWith(name))?.bytes ?? new Uint8Array(0)
  return decode(MembershipProofBodyV1Schema, bytes)
}

test("the elements of a set are encoded in sorted order", () => {
  const proof = proofSample("adds two leaves")
  proof.added = [subjectOf(3), subjectOf(1), subjectOf(2)]
  const { added } = decode(MembershipProofBodyV1Schema, encode(MembershipProofBodyV1Schema, proof))
  expect(added.map(({ credentialHash }) => credentialHash[0])).toEqual([1, 2, 3])
})

test("a set with a repeated element is refused", () => {
  const proof = proofSample("adds two leaves")
  proof.added = [subjectOf(3), subjectOf(1), subjectOf(3)]
  expect(codeOf(() => encode(MembershipProofBodyV1Schema, proof))).toBe("CPB_SET_ORDER")
})

test.each([
  ["a required field is absent", { ...binding, appId: new Uint8Array(0) }, "CPB_REQUIRED"],
  ["bytes have another length", { ...binding, appId: new Uint8Array(15) }, "CPB_LENGTH"],
  ["a number is out of its range", { ...binding, version: 2 }, "CPB_RANGE"],
  ["a number is negative", { ...binding, version: -1 }, "CPB_RANGE"],
  ["a number is a fraction", { ...binding, version: 1.5 }, "CPB_RANGE"],
  ["a value of an enum is unknown", { ...binding, kind: 3 }, "CPB_RANGE"],
] as const)("a message has no encoding when %s", (_, init, code) => {
  expect(
    codeOf(() => encode(ConversationBindingV1Schema, Object.assign(create(ConversationBindingV1Schema), init))),
  ).toBe(code)
})

test("unknown fields that another decoder kept are refused, not dropped", () => {
  const bytes = encode(ConversationBindingV1Schema, Object.assign(create(ConversationBindingV1Schema), binding))
  const kept = fromBinary(ConversationBindingV1Schema, concat(bytes, Uint8Array.of(0x78, 1)))
  expect(codeOf(() => encode(ConversationBindingV1Schema, kept))).toBe("CPB_UNKNOWN_FIELD")
})

test("a list has at most its maximum number of elements", () => {
  const proof = proofSample("adds 256 leaves")
  expect(proof.added.length).toBe(256)
  proof.added.push(subjectOf(0xff))
  expect(codeOf(() => encode(MembershipProofBodyV1Schema, proof))).toBe("CPB_LENGTH")
})

test("an error names the rule and the field, and no bytes", () => {
  const { body: bytes } = decode(SignedBytesV1Schema, world.credentialBytes)
  expect(() => decode(DeviceCredentialBodyV1Schema, concat(bytes, Uint8Array.of(0x60, 1)))).toThrow(
    /^CPB_DUPLICATE_FIELD: flags$/,
  )
  expect(() => decode(SignedBytesV1Schema, bytes)).toThrow(/^CPB_WIRE_TYPE: body$/)
})
