import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  type DeviceCredentialBodyV1,
  DeviceCredentialBodyV1Schema,
} from "@signet/proto/credential/v1/device_credential"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"
import { equalBytes, holds } from "./bytes.ts"
import { isPublicKey, type Signer, type Verify } from "./ed25519.ts"
import { ensure } from "./errors.ts"
import { hash } from "./hash.ts"
import { ensureKeyTime, type IssuedKind, type IssuerKeys, openIssued } from "./issued.ts"
import { sign } from "./signed.ts"

/** Maximum validity of a device credential: 400 days. */
export const maxCredentialSeconds = 400n * 86_400n

/** A verified device credential. */
export interface DeviceCredential {
  readonly body: DeviceCredentialBodyV1
  /** H("device-credential", signed bytes): 32 bytes. Identifies the credential everywhere else. */
  readonly hash: Uint8Array
}

/** The verifier's own knowledge. */
export interface CredentialExpectation {
  readonly issuerKeys: IssuerKeys
  /** 16 bytes. Undefined requires that the credential has no tenant. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  /** The signature key of the MLS leaf or key package that carries the credential. */
  readonly leafKey: Uint8Array
  /** Unix seconds: now, or when the server accepted the commit that is verified. */
  readonly atSeconds: bigint
  /** True if this credential hash is known to be revoked. Called when a leaf is added or a device rejoins. */
  readonly isRevoked?: (credentialHash: Uint8Array) => boolean
  readonly verify?: Verify
}

const deviceCredential: IssuedKind<DeviceCredentialBodyV1> = {
  prefix: "CRED",
  schema: DeviceCredentialBodyV1Schema,
  purpose: KeyPurpose.CREDENTIAL,
  ensureSound,
}

/**
 * Signs a device credential. Fills in format version and scheme. Equal input yields equal bytes.
 *
 * @throws CanonicalError CRED_MALFORMED, CPB_*
 */
export async function issueDeviceCredential(
  init: MessageInitShape<typeof DeviceCredentialBodyV1Schema>,
  signer: Signer,
): Promise<Uint8Array> {
  const body = create(DeviceCredentialBodyV1Schema, init)
  body.version = 1
  body.leafSignatureScheme = SignatureScheme.ED25519
  ensureSound(body)
  return sign(DeviceCredentialBodyV1Schema, body, signer)
}

/**
 * Verifies a device credential, which is valid while not_before <= at < not_after, without a grace period.
 *
 * @param bytes A SignedBytesV1 as received. It is verified before its body is decoded.
 * @throws CanonicalError CRED_*, in the order of the list in errors.ts.
 * @see proto/signet/credential/v1/device_credential.proto
 */
export function verifyDeviceCredential(bytes: Uint8Array, expected: CredentialExpectation): DeviceCredential {
  const { issuerKeys, atSeconds } = expected
  const { body, key } = openIssued(deviceCredential, bytes, issuerKeys, expected.verify)
  ensureKeyTime("CRED", key, atSeconds)
  ensure(holds(body.tenantId, expected.tenantId), "CRED_WRONG_TENANT")
  ensure(equalBytes(body.appId, expected.appId), "CRED_WRONG_APP")
  ensure(equalBytes(body.leafSignatureKey, expected.leafKey), "CRED_LEAF_KEY_MISMATCH")
  ensure(body.notBefore <= atSeconds, "CRED_NOT_YET_VALID")
  ensure(atSeconds < body.notAfter, "CRED_EXPIRED")
  const credentialHash = hash("device-credential", bytes)
  ensure(expected.isRevoked?.(credentialHash) !== true, "CRED_REVOKED")
  return { body, hash: credentialHash }
}

/** True if two credentials belong to the same device of the same user, app and tenant. */
export function isSameDevice(a: DeviceCredentialBodyV1, b: DeviceCredentialBodyV1): boolean {
  return (
    equalBytes(a.issuerId, b.issuerId) &&
    equalBytes(a.tenantId, b.tenantId) &&
    equalBytes(a.appId, b.appId) &&
    equalBytes(a.userId, b.userId) &&
    equalBytes(a.deviceId, b.deviceId)
  )
}

function ensureSound(body: DeviceCredentialBodyV1): void {
  ensure(body.notBefore < body.notAfter, "CRED_MALFORMED", "not_after")
  ensure(body.notAfter - body.notBefore <= maxCredentialSeconds, "CRED_MALFORMED", "lifetime")
  ensure(isPublicKey(body.leafSignatureKey), "CRED_MALFORMED", "leaf_signature_key")
}
