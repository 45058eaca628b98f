import { create } from "@bufbuild/protobuf"
import { type DeviceProofBodyV1, DeviceProofBodyV1Schema } from "@signet/proto/credential/v1/device_request"
import { equalBytes, utf8 } from "./bytes.ts"
import type { Signer, Verify } from "./ed25519.ts"
import { ensure } from "./errors.ts"
import { hash } from "./hash.ts"
import { openSelfSigned } from "./self-signed.ts"
import { sign } from "./signed.ts"

/** Maximum clock difference between a device and a server. */
export const maxDeviceProofSeconds = 60n

/** One call of a device. */
interface DeviceCall {
  readonly deviceId: Uint8Array
  /** "/<service>/<method>", for example "/signet.messaging.v1.KeyPackageService/Claim". */
  readonly method: string
  /** The request message in binary, as sent. */
  readonly request: Uint8Array
}

/** The server's knowledge of the call and the device. */
export interface DeviceProofExpectation extends DeviceCall {
  /** The leaf signature key of the device's credential. */
  readonly leafKey: Uint8Array
  /** Unix seconds. */
  readonly atSeconds: bigint
  readonly verify?: Verify
}

/** Signs a call with the device's leaf key. @param nonce 16 random bytes. @param atSeconds Unix time. */
export async function issueDeviceProof(
  call: DeviceCall,
  nonce: Uint8Array,
  atSeconds: bigint,
  signer: Signer,
): Promise<Uint8Array> {
  const body = create(DeviceProofBodyV1Schema, {
    version: 1,
    deviceId: call.deviceId,
    methodHash: hash("method", utf8(call.method)),
    bodyHash: hash("request", call.request),
    issuedAt: atSeconds,
    nonce,
  })
  return sign(DeviceProofBodyV1Schema, body, signer)
}

/**
 * Verifies that the device makes this call now. The caller must accept each nonce once per device and remember it for
 * twice `maxDeviceProofSeconds`.
 *
 * @throws CanonicalError DEVICE_PROOF_*, in the order of the list in errors.ts.
 */
export function verifyDeviceProof(bytes: Uint8Array, expected: DeviceProofExpectation): DeviceProofBodyV1 {
  const { leafKey, atSeconds } = expected
  const body = openSelfSigned("DEVICE_PROOF", DeviceProofBodyV1Schema, bytes, leafKey, expected.verify)
  ensure(equalBytes(body.deviceId, expected.deviceId), "DEVICE_PROOF_WRONG_DEVICE")
  ensure(equalBytes(body.methodHash, hash("method", utf8(expected.method))), "DEVICE_PROOF_WRONG_METHOD")
  ensure(equalBytes(body.bodyHash, hash("request", expected.request)), "DEVICE_PROOF_WRONG_BODY")
  ensure(body.issuedAt <= atSeconds + maxDeviceProofSeconds, "DEVICE_PROOF_NOT_YET_VALID")
  ensure(atSeconds <= body.issuedAt + maxDeviceProofSeconds, "DEVICE_PROOF_EXPIRED")
  return body
}
