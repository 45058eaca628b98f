import { create } from "@bufbuild/protobuf"
import {
  type DeviceListBodyV1,
  DeviceListBodyV1Schema,
  DeviceListEntryV1Schema,
  DeviceStatus,
} from "@signet/proto/credential/v1/device_list"
import { maxListAheadSeconds, verifyDeviceList } from "../../device-list.ts"
import * as world from "../world.ts"
import { type Refusal, resigned, table, tampered } from "./refusal.ts"

const { listBytes, listFields, listKey, bytes32, id, phone, now, day } = world
const schema = DeviceListBodyV1Schema
const none = new Uint8Array(0)
const changed = (change: Partial<DeviceListBodyV1>) => resigned(schema, listBytes, change, listKey)
const entryOf = (status: DeviceStatus) =>
  create(DeviceListEntryV1Schema, { deviceId: phone, credentialHash: bytes32(1), status, changedAt: now })

export const listRefusals: readonly Refusal[] = table("list", verifyDeviceList, world.listExpectation, [
  ["a good list", listBytes, {}, "ok"],
  ["the first", changed({ listVersion: 1n, previousHash: none }), {}, "ok"],
  ["not an envelope", Uint8Array.of(1), {}, "LIST_MALFORMED"],
  [
    "a device twice",
    changed({ entries: [entryOf(DeviceStatus.ACTIVE), entryOf(DeviceStatus.REVOKED)] }),
    {},
    "LIST_MALFORMED",
  ],
  ["a first list with one before it", changed({ listVersion: 1n }), {}, "LIST_MALFORMED"],
  ["a later list with none before it", changed({ previousHash: none }), {}, "LIST_MALFORMED"],
  [
    "signed by a key that no set holds",
    resigned(schema, listBytes, {}, world.strangerKey),
    {},
    "LIST_UNKNOWN_ISSUER_KEY",
  ],
  [
    "signed by the key for credentials",
    resigned(schema, listBytes, {}, world.credentialKey),
    {},
    "LIST_ISSUER_KEY_PURPOSE",
  ],
  ["tampered", tampered(listBytes), {}, "LIST_BAD_SIGNATURE"],
  ["of another issuer", changed({ issuerId: id(9) }), {}, "LIST_WRONG_ISSUER"],
  ["judged after its key's time", listBytes, { atSeconds: now + 500n * day }, "LIST_ISSUER_KEY_NOT_VALID"],
  ["of another tenant", listBytes, { tenantId: id(9) }, "LIST_WRONG_TENANT"],
  ["of a tenant where none is expected", listBytes, { tenantId: undefined }, "LIST_WRONG_TENANT"],
  ["of another app", listBytes, { appId: id(9) }, "LIST_WRONG_APP"],
  ["of another user", listBytes, { userId: world.bob }, "LIST_WRONG_USER"],
  ["five minutes ahead", listBytes, { atSeconds: listFields.issuedAt - maxListAheadSeconds }, "ok"],
  [
    "more than five minutes ahead",
    listBytes,
    { atSeconds: listFields.issuedAt - maxListAheadSeconds - 1n },
    "LIST_FROM_FUTURE",
  ],
])
