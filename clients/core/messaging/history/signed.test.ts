// The checks of a request for history and of a grant: every field, with its bounds.
import { generateKeyPairSync, sign } from "node:crypto"
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { concat, utf8 } from "@signet/canonical/bytes"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { HistoryGrantV1Schema, HistoryRequestV1Schema, SignedHistoryV1Schema } from "@signet/proto/client/v1/history"
import { beforeAll, expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import type { Context } from "../context.ts"
import { makeHpke } from "../crypto/hpke.ts"
import { idOf } from "../ids.ts"
import { openGrant, signGrant, signRequest, type VerifiedRequest, verifyRequest } from "./signed.ts"

const nowSeconds = Number(world.now)
const suite = makeNodeSuite()
const transferId = world.id(0x51)
const secret = world.bytes32(0x52)
const key = world.bytes32(0x53)

function deviceOf(n: number) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const { x = "" } = publicKey.export({ format: "jwk" })
  const signer = { sign: async (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)) }
  const id = idOf("dev", world.id(n))
  const context = {
    ...{ suite, verify: verifyEd25519, owner: { user: world.alice }, clock: { nowMs: () => nowSeconds * 1_000 } },
    device: { id, caller: () => ({ id: world.id(n), signer }) },
  } as unknown as Context
  const entry = { userId: idOf("prn", world.alice), deviceId: id, key: new Uint8Array(Buffer.from(x, "base64url")) }
  const signed = async <Desc extends DescMessage>(label: string, schema: Desc, of: MessageInitShape<Desc>) => {
    const body = toBinary(schema, create(schema, of))
    const signature = await signer.sign(concat(utf8(label), Uint8Array.of(0), body))
    return toBinary(SignedHistoryV1Schema, create(SignedHistoryV1Schema, { body, signature }))
  }
  return { id, context, entry, signed }
}
const [old, next, third] = [deviceOf(0x61), deviceOf(0x62), deviceOf(0x63)]
const keys = [old.entry, next.entry, third.entry]

async function reasonOf(run: () => unknown): Promise<string> {
  try {
    await run()
    return "taken"
  } catch (error) {
    expect(error).toMatchObject({ reason: "HISTORY_REFUSED" })
    return String(Object(error).message).replace(/^[^:]*: /, "")
  }
}

const fields = {
  ...{ version: 1, transferId, hpkeKey: world.bytes32(0x54), userId: world.alice, issuedAt: world.now },
  ...{ deviceId: world.id(0x62), secretHash: new Uint8Array() },
}
type Request = MessageInitShape<typeof HistoryRequestV1Schema>

test.each<[string, Request, string]>([
  ["that is whole", {}, "taken"],
  ["with the hash of a secret", { secretHash: world.bytes32(1) }, "taken"],
  ["of another version", { version: 2 }, "it has another version"],
  ["with a short device id", { deviceId: world.id(0x62).subarray(1) }, "a field has the wrong length"],
  ["with a short key", { hpkeKey: world.bytes32(1).subarray(1) }, "a field has the wrong length"],
  ["with a short hash", { secretHash: world.bytes32(1).subarray(1) }, "a field has the wrong length"],
  ["of another transfer", { transferId: world.id(1) }, "it belongs to another transfer"],
  ["of another user", { userId: world.bob }, "it belongs to another user"],
  ["of this device", { deviceId: world.id(0x61) }, "this device signed it"],
  ["of another device than its signer", { deviceId: world.id(0x63) }, "its signature does not verify"],
  ["that is 300 s ahead", { issuedAt: world.now + 300n }, "taken"],
  ["that is 301 s ahead", { issuedAt: world.now + 301n }, "it is from the future"],
  ["that is 599 s old", { issuedAt: world.now - 599n }, "taken"],
  ["that is 600 s old", { issuedAt: world.now - 600n }, "it has expired: request the history again"],
])("a request %s is judged", async (_, change, expected) => {
  const bytes = await next.signed("signet history request v1", HistoryRequestV1Schema, { ...fields, ...change })
  expect(await reasonOf(() => verifyRequest(old.context, keys, transferId, bytes))).toBe(expected)
})

test("a request of a device that no list names, in another encoding or under another label is refused", async () => {
  const bytes = await next.signed("signet history request v1", HistoryRequestV1Schema, fields)
  const judged = (its: typeof keys, of: Uint8Array) => reasonOf(() => verifyRequest(old.context, its, transferId, of))
  expect(await judged([old.entry], bytes)).toBe("the device is not an active one of this user")
  // The same fields in another order.
  const { body, signature } = fromBinary(SignedHistoryV1Schema, bytes)
  const parts = [{ signature }, { body }].map((part) =>
    toBinary(SignedHistoryV1Schema, create(SignedHistoryV1Schema, part)),
  )
  expect(await judged(keys, concat(...parts))).toBe("it does not decode")
  expect(await judged(keys, bytes.subarray(1))).toBe("it does not decode")
  const grant = await next.signed("signet history grant v1", HistoryRequestV1Schema, fields)
  expect(await judged(keys, grant)).toBe("its signature does not verify")
})

/** The request of the new device, verified by the old one, and its private key. */
let asked: VerifiedRequest
let hpkePrivateKey: Uint8Array
beforeAll(async () => {
  const pair = await makeHpke(suite).deriveKeyPair(world.bytes32(0x55))
  hpkePrivateKey = pair.privateKey
  const request = await signRequest(next.context, { transferId, hpkeKey: pair.publicKey, secret })
  asked = verifyRequest(old.context, keys, transferId, request)
})
const opened = (bytes: Uint8Array, by: "code" | "digits", fromDeviceId = old.id) => {
  const open = { transferId, request: asked.bytes, hpkePrivateKey }
  const how = by === "code" ? { secret, fromDeviceId: undefined } : { secret: undefined, fromDeviceId }
  return openGrant(next.context, keys, { ...open, ...how }, bytes)
}

test("the key of a grant opens for the compared device, or with the secret of the code", async () => {
  expect(await opened(await signGrant(old.context, asked, key, undefined), "digits")).toEqual(key)
  expect(await opened(await signGrant(old.context, asked, key, secret), "code")).toEqual(key)
})

test.each<[string, () => Promise<unknown>, string]>([
  [
    "of another device than the compared one",
    async () => opened(await signGrant(old.context, asked, key, undefined), "digits", third.id),
    "it comes from another device than the compared one",
  ],
  [
    "without a MAC, to a device that shows a code",
    async () => opened(await signGrant(old.context, asked, key, undefined), "code"),
    "the device that made it has not scanned this device's QR code",
  ],
  [
    "under another secret",
    async () => opened(await signGrant(old.context, asked, key, world.bytes32(9)), "code"),
    "the device that made it has not scanned this device's QR code",
  ],
  [
    "of a short key",
    async () => opened(await signGrant(old.context, asked, key.subarray(1), undefined), "digits"),
    "its key has the wrong length",
  ],
  [
    "of another request",
    async () => opened(await signGrant(old.context, { ...asked, bytes: world.bytes32(3) }, key, secret), "code"),
    "it grants another request",
  ],
])("a grant %s is refused", async (_, run, expected) => {
  expect(await reasonOf(run)).toBe(expected)
})

test.each<[string, MessageInitShape<typeof HistoryGrantV1Schema>, string]>([
  ["has another version", { version: 2 }, "it has another version"],
  ["has a short device id", { fromDeviceId: world.id(0x61).subarray(1) }, "it has another version"],
  ["names another device than its signer", { fromDeviceId: world.id(0x63) }, "its signature does not verify"],
  ["has a key that does not open", {}, "its key does not open"],
])("a grant that %s is refused", async (_, change, expected) => {
  const bytes = await old.signed("signet history grant v1", HistoryGrantV1Schema, {
    ...{ version: 1, fromDeviceId: world.id(0x61), enc: world.bytes32(4), sealedKey: new Uint8Array(48) },
    ...{ requestHash: new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(asked.bytes))), ...change },
  })
  expect(await reasonOf(() => opened(bytes, "code"))).toBe(expected)
})
