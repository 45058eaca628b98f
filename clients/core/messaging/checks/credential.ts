import { decode } from "@signet/canonical/canonical"
import { type DeviceCredential, verifyDeviceCredential } from "@signet/canonical/device-credential"
import type { Verify } from "@signet/canonical/ed25519"
import { CanonicalError } from "@signet/canonical/errors"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import { parseSigned } from "@signet/canonical/signed"
import {
  type DeviceCredentialBodyV1,
  DeviceCredentialBodyV1Schema,
} from "@signet/proto/credential/v1/device_credential"
import { hex } from "../crypto/bytes.ts"
import type { Trust } from "../deps.ts"
import type { Person } from "../events.ts"
import { idOf } from "../ids.ts"
import type { Member } from "../mls.ts"

/** Decodes a credential without verifying it: for a leaf whose credential was verified when the leaf was added. */
export function credentialBody(credential: Uint8Array): DeviceCredentialBodyV1 {
  return decode(DeviceCredentialBodyV1Schema, parseSigned(DeviceCredentialBodyV1Schema, credential).body)
}

/** Names the device of a credential, for the engine. */
export const deviceIn = (credential: Uint8Array): string => hex(credentialBody(credential).deviceId)

// A cache by the identity of the bytes, which live as long as their leaf: every message of that leaf needs its person.
const people = new WeakMap<Uint8Array, Person>()

export function personOf(credential: Uint8Array): Person {
  const known = people.get(credential)
  if (known !== undefined) return known
  const { userId, deviceId } = credentialBody(credential)
  const person = { userId: idOf("prn", userId), deviceId: idOf("dev", deviceId) }
  people.set(credential, person)
  return person
}

/** The issuer keys, the tenant and the app that a credential is verified against. */
export interface Realm {
  readonly issuerKeys: IssuerKeys
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly verify: Verify
}

/** @throws MessagingError ISSUER_KEYS_REFUSED */
export const realmOf = ({ issuer, owner, verify }: Trust): Realm => ({
  issuerKeys: issuer.keys(),
  tenantId: owner.tenant,
  appId: owner.app,
  verify,
})

/**
 * Verifies the credential of a leaf.
 *
 * @param at Unix seconds; "ever" for a leaf that was added earlier, whose credential may have expired since.
 * @throws CanonicalError CRED_*
 */
export function verifyMember(
  realm: Realm,
  { credential, signatureKey }: Pick<Member, "credential" | "signatureKey">,
  at: bigint | "ever",
): DeviceCredential {
  const atSeconds = at === "ever" ? credentialIn(credential).notBefore : at
  return verifyDeviceCredential(credential, { ...realm, leafKey: signatureKey, atSeconds })
}

/** A new credential may begin at most this long after our clock. */
const maxAheadSeconds = 300n

/** Verifies a credential that was just issued, or is about to be used. @throws CanonicalError CRED_* */
export function verifyFresh(
  realm: Realm,
  leaf: Pick<Member, "credential" | "signatureKey">,
  nowSeconds: number,
): DeviceCredential {
  const now = BigInt(nowSeconds)
  const { notBefore } = credentialIn(leaf.credential)
  return verifyMember(realm, leaf, notBefore > now && notBefore <= now + maxAheadSeconds ? notBefore : now)
}

/** Decodes an untrusted credential without verifying it. @throws CanonicalError CRED_MALFORMED */
export function credentialIn(credential: Uint8Array): DeviceCredentialBodyV1 {
  try {
    return credentialBody(credential)
  } catch (cause) {
    throw new CanonicalError("CRED_MALFORMED", "", { cause })
  }
}
