import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type DeviceRequestBodyV1, DeviceRequestBodyV1Schema } from "@signet/proto/credential/v1/device_request"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"
import { equalBytes, holds } from "./bytes.ts"
import { decode } from "./canonical.ts"
import { isPublicKey, type Signer, type Verify } from "./ed25519.ts"
import { ensure, rethrowAs } from "./errors.ts"
import { openSelfSigned } from "./self-signed.ts"
import { parseSigned, sign } from "./signed.ts"

/** Maximum age of a request, and maximum time by which it may be ahead of the server's clock. */
export const maxRequestSeconds = 300n

/** The authenticated caller that the request must match. */
export interface DeviceRequestExpectation {
  readonly issuerId: Uint8Array
  /** 16 bytes. Undefined requires that the request has no tenant. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly userId: Uint8Array
  /** Unix seconds. */
  readonly atSeconds: bigint
  readonly verify?: Verify
}

/** Creates a request for a credential for the signer's key. Fills in format version, scheme and key. */
export async function issueDeviceRequest(
  init: MessageInitShape<typeof DeviceRequestBodyV1Schema>,
  signer: Signer,
): Promise<Uint8Array> {
  const body = create(DeviceRequestBodyV1Schema, init)
  body.version = 1
  body.leafSignatureScheme = SignatureScheme.ED25519
  body.leafSignatureKey = signer.publicKey
  return sign(DeviceRequestBodyV1Schema, body, signer)
}

/**
 * Verifies that a device requests a credential now, as this user, for a key that it holds.
 *
 * @throws CanonicalError REQUEST_*, in the order of the list in errors.ts.
 */
export function verifyDeviceRequest(bytes: Uint8Array, expected: DeviceRequestExpectation): DeviceRequestBodyV1 {
  const { atSeconds } = expected
  const schema = DeviceRequestBodyV1Schema
  // Before verification only the key is used: the signature must be under that key.
  const asked = rethrowAs("REQUEST_MALFORMED", () => decode(schema, parseSigned(schema, bytes).body))
  ensure(isPublicKey(asked.leafSignatureKey), "REQUEST_MALFORMED", "leaf_signature_key")
  const body = openSelfSigned("REQUEST", schema, bytes, asked.leafSignatureKey, expected.verify)
  ensure(equalBytes(body.issuerId, expected.issuerId), "REQUEST_WRONG_ISSUER")
  ensure(holds(body.tenantId, expected.tenantId), "REQUEST_WRONG_TENANT")
  ensure(equalBytes(body.appId, expected.appId), "REQUEST_WRONG_APP")
  ensure(equalBytes(body.userId, expected.userId), "REQUEST_WRONG_USER")
  ensure(body.issuedAt <= atSeconds + maxRequestSeconds, "REQUEST_NOT_YET_VALID")
  ensure(atSeconds < body.issuedAt + maxRequestSeconds, "REQUEST_EXPIRED")
  return body
}
