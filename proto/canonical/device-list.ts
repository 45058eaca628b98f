import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type DeviceListBodyV1, DeviceListBodyV1Schema } from "@signet/proto/credential/v1/device_list"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { equalBytes, holds, toHex } from "./bytes.ts"
import type { Signer, Verify } from "./ed25519.ts"
import { ensure } from "./errors.ts"
import { hash } from "./hash.ts"
import { ensureKeyTime, type IssuedKind, type IssuerKeys, openIssued } from "./issued.ts"
import { sign } from "./signed.ts"

/** Maximum time by which a list may be ahead of the reader's clock. */
export const maxListAheadSeconds = 300n

/** A verified device list. Clients store `body.listVersion` and `hash`. */
export interface DeviceList {
  readonly body: DeviceListBodyV1
  /** H("device-list", signed bytes): 32 bytes. */
  readonly hash: Uint8Array
}

/** The newest device list of a user that a client has accepted. */
export interface SeenDeviceList {
  readonly version: bigint
  readonly hash: Uint8Array
}

/** The verifier's own knowledge. */
export interface DeviceListExpectation {
  readonly issuerKeys: IssuerKeys
  /** 16 bytes. Undefined requires that the list has no tenant. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly userId: Uint8Array
  /** Unix seconds. */
  readonly atSeconds: bigint
  readonly verify?: Verify
}

const deviceList: IssuedKind<DeviceListBodyV1> = {
  prefix: "LIST",
  schema: DeviceListBodyV1Schema,
  purpose: KeyPurpose.LIST,
  ensureSound,
}

/**
 * Signs a device list. Fills in the format version.
 *
 * @throws CanonicalError LIST_MALFORMED, CPB_*
 */
export async function issueDeviceList(
  init: MessageInitShape<typeof DeviceListBodyV1Schema>,
  signer: Signer,
): Promise<Uint8Array> {
  const body = create(DeviceListBodyV1Schema, init)
  body.version = 1
  ensureSound(body)
  return sign(DeviceListBodyV1Schema, body, signer)
}

/**
 * Verifies a device list by itself. `placeAfter` compares it with the newest list seen.
 *
 * @param bytes A SignedBytesV1 as received. It is verified before its body is decoded.
 * @throws CanonicalError LIST_*, in the order of the list in errors.ts.
 */
export function verifyDeviceList(bytes: Uint8Array, expected: DeviceListExpectation): DeviceList {
  const { issuerKeys, atSeconds } = expected
  const { body, key } = openIssued(deviceList, bytes, issuerKeys, expected.verify)
  ensureKeyTime("LIST", key, atSeconds)
  ensure(holds(body.tenantId, expected.tenantId), "LIST_WRONG_TENANT")
  ensure(equalBytes(body.appId, expected.appId), "LIST_WRONG_APP")
  ensure(equalBytes(body.userId, expected.userId), "LIST_WRONG_USER")
  ensure(body.issuedAt <= atSeconds + maxListAheadSeconds, "LIST_FROM_FUTURE")
  return { body, hash: hash("device-list", bytes) }
}

/**
 * Compares a verified list with the newest one seen: "same", "next" (its previous hash is the seen one), "first" (none
 * was seen), or "gap" (versions in between were not seen, so nothing proves its descent).
 *
 * @throws CanonicalError LIST_ROLLBACK for a lower version; DEVICE_LIST_FORK for another list of the same version, or a
 * next one with another predecessor.
 */
export function placeAfter(seen: SeenDeviceList | undefined, list: DeviceList): "first" | "same" | "next" | "gap" {
  if (seen === undefined) return "first"
  const { listVersion, previousHash } = list.body
  ensure(listVersion >= seen.version, "LIST_ROLLBACK")
  if (listVersion === seen.version) {
    ensure(equalBytes(list.hash, seen.hash), "DEVICE_LIST_FORK")
    return "same"
  }
  if (listVersion > seen.version + 1n) return "gap"
  ensure(equalBytes(previousHash, seen.hash), "DEVICE_LIST_FORK")
  return "next"
}

function ensureSound(body: DeviceListBodyV1): void {
  ensure((body.listVersion === 1n) === (body.previousHash.length === 0), "LIST_MALFORMED", "previous_hash")
  const devices = new Set(body.entries.map((entry) => toHex(entry.deviceId)))
  ensure(devices.size === body.entries.length, "LIST_MALFORMED", "device twice")
}
