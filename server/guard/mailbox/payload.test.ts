import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { maxHops } from "@signet/kernel/authz/envelope"
import { newId } from "@signet/kernel/ids"
import { EnvelopePayloadSchema, PostedEnvelopeSchema, SignedEnvelopeSchema } from "@signet/proto/authz/v1/mailbox"
import { describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { proofBytes, readPayload, readPosted, signedBytes } from "./payload.ts"

/** A field that no schema has: number 2047, of length 1. */
const unknownField = new Uint8Array([0xfa, 0x7f, 0x01, 0x00])
const withUnknown = (bytes: Uint8Array) => new Uint8Array([...bytes, ...unknownField])

test("signed bytes begin with their purpose", () => {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1")
  expect(text(signedBytes(new Uint8Array([1, 2])))).toBe("signet actor envelope v1\0\x01\x02")
  expect(text(proofBytes("sac_1"))).toBe("signet envelope key v1\0sac_1")
})

describe("delivered bytes", () => {
  const envelope = toBinary(SignedEnvelopeSchema, create(SignedEnvelopeSchema, { payload: new Uint8Array(8) }))
  const posted = (hops: number, messageBytes = 4): Uint8Array => {
    const chain = Array.from({ length: hops }, () => ({ payload: new Uint8Array(8) }))
    return toBinary(
      PostedEnvelopeSchema,
      create(PostedEnvelopeSchema, { chain, message: new Uint8Array(messageBytes) }),
    )
  }

  test("are one or more envelopes, and a message of at most 1 MiB", () => {
    expect(readPosted(posted(1))).toMatchObject({ message: new Uint8Array(4) })
    expect(readPosted(posted(maxHops + 1, 1_048_576))).not.toBeTypeOf("string")
    expect(readPosted(posted(maxHops + 2))).toBe("ENVELOPE_HOP_LIMIT")
    expect(readPosted(posted(1, 1_048_577))).toBe("ENVELOPE_MALFORMED")
  })

  test.each<[string, Uint8Array]>([
    ["no envelope", posted(0)],
    ["no message of the schema", new Uint8Array([0xff])],
    ["a field that is not known", withUnknown(posted(1))],
    ["an envelope with one", new Uint8Array([0x0a, envelope.length + 4, ...withUnknown(envelope)])],
  ])("is not read with %s", (_, bytes) => {
    expect(readPosted(bytes)).toBe("ENVELOPE_MALFORMED")
  })

  test.runIf(isLong)("are at most 1.5 MiB", () => {
    // Every decoded part is within its limit: a repeated message is read once.
    const twice = new Uint8Array([...posted(1, 700_000), ...posted(0, 870_000)])
    expect(twice.length).toBeLessThan(1_572_864)
    expect(readPosted(twice)).not.toBeTypeOf("string")
    const padding = posted(0, 1_572_864 - twice.length - 3)
    const full = new Uint8Array([...padding, ...twice])
    expect(full.length).toBe(1_572_864)
    expect(readPosted(full)).not.toBeTypeOf("string")
    expect(readPosted(new Uint8Array([...posted(0, 1_572_864 - twice.length - 2), ...twice]))).toBe(
      "ENVELOPE_MALFORMED",
    )
  })
})

describe("a payload", () => {
  const payload = {
    envelopeId: "e".repeat(16),
    issuerPrincipal: newId("prn", 1, new Uint8Array(10)),
    messageSha256: new Uint8Array(32),
    correlationId: "work",
  }
  const read = (change: MessageInitShape<typeof EnvelopePayloadSchema> = {}) =>
    readPayload(toBinary(EnvelopePayloadSchema, create(EnvelopePayloadSchema, { ...payload, ...change })))

  test.each<[string, MessageInitShape<typeof EnvelopePayloadSchema>]>([
    ["no more than it needs", {}],
    [
      "everything as long as it may be",
      {
        envelopeId: "e".repeat(64),
        parentSha256: new Uint8Array(32),
        correlationId: "c".repeat(128),
        causationId: "c".repeat(128),
        messageType: "t".repeat(256),
        scopeSubset: Array.from({ length: 256 }, (_, index) => `scope-${index}`),
      },
    ],
  ])("is read with %s", (_, change) => {
    expect(read(change)).toMatchObject({ issuerPrincipal: payload.issuerPrincipal })
  })

  test.each<[string, MessageInitShape<typeof EnvelopePayloadSchema>]>([
    ["too short an id", { envelopeId: "e".repeat(15) }],
    ["too long an id", { envelopeId: "e".repeat(65) }],
    ["an id of other characters", { envelopeId: `${"e".repeat(16)}/` }],
    ["no principal", { issuerPrincipal: "" }],
    ["a principal of another kind", { issuerPrincipal: newId("app", 1, new Uint8Array(10)) }],
    ["no digest of the message", { messageSha256: new Uint8Array() }],
    ["half a digest of the message", { messageSha256: new Uint8Array(16) }],
    ["half a digest of the one before", { parentSha256: new Uint8Array(16) }],
    ["no correlation", { correlationId: "" }],
    ["too long a correlation", { correlationId: "c".repeat(129) }],
    ["too long a cause", { causationId: "c".repeat(129) }],
    ["too long a type", { messageType: "t".repeat(257) }],
    ["too many scopes", { scopeSubset: Array.from({ length: 257 }, (_, index) => `scope-${index}`) }],
    ["an empty scope", { scopeSubset: ["notes.read", ""] }],
  ])("is not read with %s", (_, change) => {
    expect(read(change)).toBeUndefined()
  })

  test("is rejected with an unknown field, or if malformed", () => {
    const bytes = toBinary(EnvelopePayloadSchema, create(EnvelopePayloadSchema, payload))
    expect(readPayload(bytes)).toBeDefined()
    expect(readPayload(withUnknown(bytes))).toBeUndefined()
    expect(readPayload(new Uint8Array([0xff]))).toBeUndefined()
  })
})
