import {
  DeviceProofBodyV1Schema,
  DeviceRequestBodyV1Schema,
  StorageClass,
} from "@signet/proto/credential/v1/device_request"
import { concat } from "../../bytes.ts"
import {
  type DeviceProofExpectation,
  issueDeviceProof,
  maxDeviceProofSeconds,
  verifyDeviceProof,
} from "../../device-proof.ts"
import {
  type DeviceRequestExpectation,
  issueDeviceRequest,
  maxRequestSeconds,
  verifyDeviceRequest,
} from "../../device-request.ts"
import { keyIdOf } from "../../hash.ts"
import * as world from "../world.ts"
import { envelope, partsOf, type Refusal, resigned, signedRaw, table, tampered } from "./refusal.ts"

const { now, id, leaf, otherLeaf, issuerId, tenantId, appId } = world
const asked = { issuerId, tenantId, appId, userId: world.alice, nonce: id(0xf1), platform: "web" }
export const requestBytes = await issueDeviceRequest(
  { ...asked, storageClass: StorageClass.BROWSER, issuedAt: now },
  leaf,
)
const requestExpectation: DeviceRequestExpectation = { issuerId, tenantId, appId, userId: world.alice, atSeconds: now }
const forAnother = { leafSignatureKey: otherLeaf.publicKey }
const misnamed = {
  ...partsOf(resigned(DeviceRequestBodyV1Schema, requestBytes, forAnother, leaf)),
  keyId: keyIdOf(otherLeaf.publicKey),
}

const smallOrder = Uint8Array.of(1, ...new Uint8Array(31))
const smallOrderRequest = resigned(DeviceRequestBodyV1Schema, requestBytes, { leafSignatureKey: smallOrder }, leaf)

export const requestRefusals: readonly Refusal[] = table("request", verifyDeviceRequest, requestExpectation, [
  ["a valid request", requestBytes, {}, "ok"],
  ["not an envelope", Uint8Array.of(1), {}, "REQUEST_MALFORMED"],
  [
    "signed by a key other than the one asked for",
    resigned(DeviceRequestBodyV1Schema, requestBytes, {}, otherLeaf),
    {},
    "REQUEST_KEY_MISMATCH",
  ],
  ["for a key that the signer does not hold", envelope(misnamed), {}, "REQUEST_BAD_SIGNATURE"],
  ["tampered", tampered(requestBytes), {}, "REQUEST_BAD_SIGNATURE"],
  [
    "for a key of small order, whose signatures anybody can forge",
    envelope({
      ...partsOf(smallOrderRequest),
      keyId: keyIdOf(smallOrder),
      signature: concat(smallOrder, id(0), id(0)),
    }),
    {},
    "REQUEST_MALFORMED",
  ],
  ["to another issuer", requestBytes, { issuerId: id(9) }, "REQUEST_WRONG_ISSUER"],
  ["in another tenant", requestBytes, { tenantId: id(9) }, "REQUEST_WRONG_TENANT"],
  ["in a tenant where there is none", requestBytes, { tenantId: undefined }, "REQUEST_WRONG_TENANT"],
  ["in another app", requestBytes, { appId: id(9) }, "REQUEST_WRONG_APP"],
  ["by another user", requestBytes, { userId: world.bob }, "REQUEST_WRONG_USER"],
  ["from a clock five minutes ahead", requestBytes, { atSeconds: now - maxRequestSeconds }, "ok"],
  [
    "from a clock more than five minutes ahead",
    requestBytes,
    { atSeconds: now - maxRequestSeconds - 1n },
    "REQUEST_NOT_YET_VALID",
  ],
  ["in its last second", requestBytes, { atSeconds: now + maxRequestSeconds - 1n }, "ok"],
  ["at its expiry", requestBytes, { atSeconds: now + maxRequestSeconds }, "REQUEST_EXPIRED"],
])

const call = { deviceId: world.phone, method: "/signet.messaging.v1.KeyPackageService/Claim", request: id(1) }
const deviceProofBytes = await issueDeviceProof(call, id(0xf2), now, leaf)
const proofExpectation: DeviceProofExpectation = { ...call, leafKey: leaf.publicKey, atSeconds: now }

export const deviceProofRefusals: readonly Refusal[] = table("device-proof", verifyDeviceProof, proofExpectation, [
  ["a valid proof", deviceProofBytes, {}, "ok"],
  ["not an envelope", Uint8Array.of(1), {}, "DEVICE_PROOF_MALFORMED"],
  ["by another device's key", deviceProofBytes, { leafKey: otherLeaf.publicKey }, "DEVICE_PROOF_KEY_MISMATCH"],
  ["tampered", tampered(deviceProofBytes), {}, "DEVICE_PROOF_BAD_SIGNATURE"],
  [
    "a malformed body with an invalid signature",
    envelope({ ...partsOf(deviceProofBytes), body: id(1) }),
    {},
    "DEVICE_PROOF_BAD_SIGNATURE",
  ],
  [
    "a malformed body with a valid signature",
    signedRaw(DeviceProofBodyV1Schema, id(1), leaf),
    {},
    "DEVICE_PROOF_MALFORMED",
  ],
  ["of another device with the same key", deviceProofBytes, { deviceId: id(9) }, "DEVICE_PROOF_WRONG_DEVICE"],
  [
    "for another method",
    deviceProofBytes,
    { method: "/signet.messaging.v1.KeyPackageService/Retire" },
    "DEVICE_PROOF_WRONG_METHOD",
  ],
  ["for another request", deviceProofBytes, { request: id(2) }, "DEVICE_PROOF_WRONG_BODY"],
  ["a minute ahead", deviceProofBytes, { atSeconds: now - maxDeviceProofSeconds }, "ok"],
  [
    "more than a minute ahead",
    deviceProofBytes,
    { atSeconds: now - maxDeviceProofSeconds - 1n },
    "DEVICE_PROOF_NOT_YET_VALID",
  ],
  ["a minute old", deviceProofBytes, { atSeconds: now + maxDeviceProofSeconds }, "ok"],
  ["more than a minute old", deviceProofBytes, { atSeconds: now + maxDeviceProofSeconds + 1n }, "DEVICE_PROOF_EXPIRED"],
])
