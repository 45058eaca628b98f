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
import type { Person } from "../events.ts"
import { idOf } from "../ids.ts"
import { type GroupState, type Member, membersOf } from "../mls.ts"

/** What a credential says, unverified: for those that were verified when their leaf came in. */
export function credentialBody(credential: Uint8Array): DeviceCredentialBodyV1 {
  return decode(DeviceCredentialBodyV1Schema, parseSigned(DeviceCredentialBodyV1Schema, credential).body)
}

/** For the engine: which device a leaf is of. */
export const deviceIn = (credential: Uint8Array): string => hex(credentialBody(credential).deviceId)

/** By the identity of their bytes, which live as long as their leaf: each message of it asks again. */
const people = new WeakMap<Uint8Array, Person>()

export function personOf(credential: Uint8Array): Person {
  const known = people.get(credential)
  if (known !== undefined) return known
  const { userId, deviceId } = credentialBody(credential)
  const person = { userId: idOf("prn", userId), deviceId: idOf("dev", deviceId) }
  people.set(credential, person)
  return person
}

/** The users of a group, each once. */
export const usersIn = (group: GroupState): string[] => [
  ...new Set(membersOf(group).map(({ credential }) => personOf(credential).userId)),
]

/** The members of a group by their device. */
export function rosterOf(group: GroupState): Map<string, Person & { readonly leaf: number }> {
  return new Map(
    membersOf(group).map(({ leaf, credential }) => {
      const person = personOf(credential)
      return [person.deviceId, { ...person, leaf }]
    }),
  )
}

/** Who came and who went. */
export function difference(before: GroupState, after: GroupState): { added: Person[]; removed: Person[] } {
  const then = rosterOf(before)
  const now = rosterOf(after)
  const bare = ({ userId, deviceId }: Person): Person => ({ userId, deviceId })
  return {
    added: [...now.values()].filter(({ deviceId }) => !then.has(deviceId)).map(bare),
    removed: [...then.values()].filter(({ deviceId }) => !now.has(deviceId)).map(bare),
  }
}

/** What credentials of a conversation are verified against. */
export interface Realm {
  readonly issuerKeys: IssuerKeys
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly verify: Verify
}

/**
 * Verifies the credential of a leaf.
 *
 * @param at Unix seconds; "ever" for a leaf that came in earlier, whose credential may have ended since.
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

/** How far a new credential may begin after the own clock: clocks differ. */
const maxAheadSeconds = 300n

/** Verifies a credential that was just made, or is about to be used. @throws CanonicalError CRED_* */
export function verifyFresh(
  realm: Realm,
  leaf: Pick<Member, "credential" | "signatureKey">,
  nowSeconds: number,
): DeviceCredential {
  const now = BigInt(nowSeconds)
  const { notBefore } = credentialIn(leaf.credential)
  return verifyMember(realm, leaf, notBefore > now && notBefore <= now + maxAheadSeconds ? notBefore : now)
}

/** What a credential of somebody else's making says, unverified. @throws CanonicalError CRED_MALFORMED */
export function credentialIn(credential: Uint8Array): DeviceCredentialBodyV1 {
  try {
    return credentialBody(credential)
  } catch (cause) {
    throw new CanonicalError("CRED_MALFORMED", "", { cause })
  }
}
