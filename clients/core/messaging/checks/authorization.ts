import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { hash } from "@signet/canonical/hash"
import { checkEffect } from "@signet/canonical/membership-effect"
import { type MembershipProof, verifyMembershipProof } from "@signet/canonical/membership-proof"
import { parseSigned } from "@signet/canonical/signed"
import { MembershipOp, MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import type { Authorization, ClaimedKeyPackage } from "@signet/proto/messaging/v1/records"
import { hex } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import type { Person } from "../events.ts"
import { bytesOfId } from "../ids.ts"
import { type GroupState, type KeyPackageView, membersOf, stateTag } from "../mls.ts"
import { personOf, type Realm, verifyFresh } from "./credential.ts"
import { rosterOf } from "./roster.ts"
import type { VerificationContext } from "./verification-context.ts"

/** A change of members as the service authorized it. */
export interface Authorized {
  /**
   * `remove` covers every device that `isAsked`; `directive` what the directive names; `reset` begins another group.
   */
  readonly does: "add" | "remove" | "directive" | "reset"
  readonly authorization: Authorization
  /** True for the devices that the request covers: the service adds and removes no other device. */
  readonly isAsked: (person: Person) => boolean
}

/** A key package whose credential and reference are verified. */
interface VerifiedKeyPackage {
  readonly credentialHash: Uint8Array
  readonly keyPackageRef: Uint8Array
}

/**
 * Verifies the proof of an authorization at the proof's own issue time: its expiry is enforced by the service.
 *
 * @throws CanonicalError; MessagingError ANSWER_REFUSED
 */
export function verifyAuthorization(
  verification: VerificationContext,
  group: GroupState,
  { does, authorization: { proof: signed } }: Authorized,
): MembershipProof {
  const schema = MembershipProofBodyV1Schema
  const { issuedAt, baseStateTag } = decode(schema, parseSigned(schema, signed).body)
  const resets = does === "reset"
  const proof = verifyMembershipProof(signed, {
    ...verification,
    conversationId: bytesOfId("cnv", verification.conversationId),
    mlsGroupId: group.groupId,
    baseEpoch: group.epoch,
    // A reset names the state of a group that this device is not in. The members of that group compare it.
    baseStateTag: resets ? baseStateTag : stateTag(group),
    atSeconds: issuedAt,
  })
  if ((proof.body.op === MembershipOp.RESET) !== resets) throw refused("the proof is of another operation")
  if ((proof.body.op === MembershipOp.CREATE) !== (group.epoch === 0n)) {
    throw refused("the proof is of another operation")
  }
  return proof
}

/** The claimed key packages that the proof allows to be added. */
export function allowedKeyPackages({ keyPackageRefs, claim }: Authorization): ClaimedKeyPackage[] {
  const allowed = new Set(keyPackageRefs.map(hex))
  return (claim?.keyPackages ?? []).filter((one) => allowed.has(hex(one.keyPackageRef)))
}

/** @throws CanonicalError CRED_*; MessagingError ANSWER_REFUSED */
export function checkKeyPackage(
  realm: Realm,
  claimed: ClaimedKeyPackage,
  { reference, credential, signatureKey }: KeyPackageView,
  isAsked: Authorized["isAsked"],
  nowSeconds: number,
): VerifiedKeyPackage {
  const { hash: credentialHash } = verifyFresh(realm, { credential, signatureKey }, nowSeconds)
  const person = personOf(credential)
  const isWhole = equalBytes(reference, claimed.keyPackageRef) && person.deviceId === claimed.deviceId
  if (!isWhole || !isAsked(person)) throw refused("a claimed key package is of a device that was not requested")
  return { credentialHash, keyPackageRef: reference }
}

/**
 * Checks an authorized change against the request and the proof.
 *
 * @returns The leaves to remove.
 * @throws CanonicalError; MessagingError ANSWER_REFUSED
 */
export function checkAuthorizedChange(
  group: GroupState,
  { does, authorization, isAsked }: Authorized,
  proof: MembershipProof,
  added: readonly VerifiedKeyPackage[],
): number[] {
  const roster = rosterOf(group)
  const removed = authorization.removedDeviceIds.map((deviceId) => {
    const member = roster.get(deviceId)
    if (member === undefined || !isAsked(member)) throw refused("the service removes a device that was not requested")
    return member
  })
  if (removed.some(({ leaf }) => leaf === group.ownLeaf)) throw refused("a device cannot remove itself")
  if (does !== "remove" && added.length + removed.length === 0) throw refused("the authorization changes nothing")
  if ((does === "add" || does === "reset") && removed.length > 0) {
    throw refused("the service removes a device where devices were to be added")
  }
  const isLeft = [...roster.values()].some((member) => isAsked(member) && !removed.includes(member))
  if (does === "remove" && (isLeft || added.length > 0)) throw refused("a device to remove is still a member")
  const hashAt = credentialHashes(group)
  checkEffect(proof.body, {
    added,
    removed: removed.map(({ leaf }) => hashAt(leaf)),
    committer: hashAt(group.ownLeaf),
  })
  return removed.map(({ leaf }) => leaf)
}

function credentialHashes(group: GroupState): (leaf: number) => Uint8Array {
  const byLeaf = new Map(membersOf(group).map(({ leaf, credential }) => [leaf, credential]))
  return (leaf) => hash("device-credential", byLeaf.get(leaf) ?? new Uint8Array())
}

function refused(message: string): MessagingError {
  return new MessagingError("ANSWER_REFUSED", message)
}
