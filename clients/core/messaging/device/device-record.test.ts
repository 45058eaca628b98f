import { create } from "@bufbuild/protobuf"
import { DeviceRecordSchema, IdentityKeySchema } from "@signet/proto/client/v1/records"
import { describe, expect, test } from "vitest"
import {
  type AfterRegistration,
  allKeysOf,
  decideRegistration,
  signingKeysOf,
  withCredential,
  withKey,
  withNextKey,
  withoutDevice,
} from "./device-record.ts"

const keyOf = (byte: number) =>
  create(IdentityKeySchema, { seed: new Uint8Array([byte, 1]), publicKey: new Uint8Array([byte]) })
const [current, next, former, unknown] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)]
const issued = { deviceId: "dev_1", credential: new Uint8Array([9]), notBefore: 5n, notAfter: 6n }
const before = create(DeviceRecordSchema, {
  deviceId: "dev_1",
  key: current,
  nextKey: next,
  formerKeys: [former],
  issuerKeySet: new Uint8Array([7]),
  bindsRecords: true,
})
const plain = create(DeviceRecordSchema, { key: current })

describe("a credential", () => {
  test("of the current key is stored, and a pending renewal is kept", () => {
    expect(withCredential(before, issued, current)).toEqual(
      create(DeviceRecordSchema, {
        ...before,
        credential: issued.credential,
        credentialNotBefore: 5n,
        credentialNotAfter: 6n,
      }),
    )
  })

  test("of the next key makes it the current one, and former keys still sign for their leaves", () => {
    const { nextKey: _, ...kept } = before
    expect(withCredential(before, issued, next)).toEqual(
      create(DeviceRecordSchema, {
        ...kept,
        credential: issued.credential,
        credentialNotBefore: 5n,
        credentialNotAfter: 6n,
        key: next,
        formerKeys: [current, former],
        hasFormerKeyPackages: true,
      }),
    )
  })

  test("does not clear the mark of former key packages", () => {
    const marked = create(DeviceRecordSchema, { ...before, hasFormerKeyPackages: true })
    expect(withCredential(marked, issued, current).hasFormerKeyPackages).toBe(true)
  })

  test.each([
    ["a key that is not stored", before, unknown],
    ["a former key", before, former],
    ["any key of an empty record", create(DeviceRecordSchema), current],
  ])("of %s changes nothing", (_, record, key) => {
    expect(withCredential(record, issued, key)).toBe(record)
  })
})

describe("a key", () => {
  test("is stored once: the first tab wins", () => {
    expect(withKey(create(DeviceRecordSchema), current).key).toEqual(current)
    expect(withKey(plain, next)).toBe(plain)
    expect(withNextKey(plain, next).nextKey).toEqual(next)
    expect(withNextKey(before, unknown)).toBe(before)
  })

  test("signs once it has a credential, and a next key does not", () => {
    expect(signingKeysOf(before)).toEqual([current, former])
    expect(allKeysOf(before)).toEqual([current, former, next])
    expect([signingKeysOf(undefined), allKeysOf(undefined)]).toEqual([[], []])
  })
})

test.each([
  ["that is to be replaced", { givesWay: true }, true],
  ["that was never registered", { deviceId: "" }, true],
  ["that another tab has registered since", {}, false],
])("a record of a device %s is dropped with its keys: %o, %s", (_, change, isDropped) => {
  const record = create(DeviceRecordSchema, { ...before, ...change })
  const { issuerKeySet, bindsRecords } = before
  const dropped = create(DeviceRecordSchema, { issuerKeySet, bindsRecords })
  expect(withoutDevice(record)).toEqual(isDropped ? dropped : record)
})

const registered = create(DeviceRecordSchema, { deviceId: "dev_1", key: current })
type Row = readonly [AfterRegistration, string, Parameters<typeof decideRegistration>]
test.each<Row>([
  ["accept", "a credential of a stored key", [registered, { deviceId: "dev_1", isUsable: true }, false]],
  ["accept", "the first credential of a device", [plain, { deviceId: "dev_1", isUsable: true }, true]],
  ["renew", "an expired credential of this device", [registered, { deviceId: "dev_1", isUsable: false }, true]],
  [
    "replace",
    "a credential of another key, for a key that was never used",
    [plain, { deviceId: "dev_2", isUsable: false }, false],
  ],
  ["refuse", "the same on the second try", [plain, { deviceId: "dev_2", isUsable: false }, true]],
  ["refuse", "a credential of another device", [registered, { deviceId: "dev_2", isUsable: false }, false]],
  ["refuse", "any credential without a record", [undefined, { deviceId: "dev_1", isUsable: false }, false]],
])("a registration continues with %s after %s", (next, _, [record, answered, isSecondTry]) => {
  expect(decideRegistration(record, answered, isSecondTry)).toBe(next)
})
