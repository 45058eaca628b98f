import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { checkEffect } from "@signet/canonical/membership-effect"
import { type MembershipProof, verifyMembershipProof } from "@signet/canonical/membership-proof"
import { parseSigned } from "@signet/canonical/signed"
import { type StagedCommit, StagedCommitSchema } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp, MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import type { Authorization, ClaimedKeyPackage } from "@signet/proto/messaging/v1/records"
import { personOf, rosterOf, verifyFresh } from "../checks/roster.ts"
import type { Context } from "../context.ts"
import { hex } from "../crypto/bytes.ts"
import { nowSeconds } from "../deps.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { Person } from "../events.ts"
import { bytesOfId } from "../ids.ts"
import {
  type CommitOptions,
  type StagedCommit as EngineCommit,
  EngineRefused,
  encodeEpoch,
  encodeSecrets,
  membersOf,
  stateTag,
} from "../mls.ts"
import { benchOf } from "../receiving/follow.ts"
import { refusingAs } from "../refusing.ts"
import type { Held, Seat } from "../state/held.ts"

/** A change of members as the service authorized it, and whom it may be about. */
export interface Authorized {
  /** What was asked for: to add, to remove everybody who `isAsked`, what a directive is at, or another group. */
  readonly does: "add" | "remove" | "directive" | "reset"
  readonly authorization: Authorization
  /** Whether this device of this user is what was asked for: the service adds and removes nobody on its own. */
  readonly isAsked: (person: Person) => boolean
}

/** What a commit does: an authorized change, or new keys for the own leaf. */
export type Plan = Authorized | "update"

/**
 * Makes the commit of a plan, to be stored before it is sent. Nothing of it is believed that does not verify.
 *
 * @throws MessagingError ANSWER_REFUSED
 */
export async function stageCommit(
  context: Context,
  conversationId: string,
  held: Held & { readonly seat: Seat },
  intentId: string,
  plan: Plan,
): Promise<StagedCommit> {
  const proof = plan === "update" ? undefined : plan.authorization.proof
  const { seat } = held
  const aad = buildEnvelopeAad({
    conversationId: bytesOfId("cnv", conversationId),
    kind: EnvelopeKind.COMMIT,
    membershipProof: proof,
    lastReceiptHash: seat.receipt === "first" ? undefined : seat.receipt.hash,
  })
  const options: CommitOptions = { aad, ...(proof === undefined ? {} : { proof }) }
  const made = await refusingAs("ANSWER_REFUSED", () => make(context, conversationId, held, plan, options))
  const renewed = plan === "update" ? context.device.identity() : undefined
  return create(StagedCommitSchema, {
    intentId,
    epoch: seat.group.epoch,
    idempotencyKey: context.random.bytes(16),
    commitHash: hash("commit", made.commit),
    commit: made.commit,
    groupInfo: made.groupInfo,
    ...(made.welcome === undefined ? {} : { welcome: made.welcome }),
    nextTree: encodeEpoch(made.next),
    nextState: encodeSecrets(made.next),
    claimTickets: plan !== "update" && plan.authorization.claim ? [plan.authorization.claim.ticket] : [],
    nextIdentityKey: renewed?.signatureKey ?? seat.identityKey,
    renewsLeaf: made.welcome === undefined,
  })
}

/** Whether what was claimed has ended since, as where a claim was answered and the answer came months later: others are claimed. */
export const isStaleClaim = (error: unknown): boolean =>
  isMessagingError(error, "ANSWER_REFUSED") &&
  error.cause instanceof EngineRefused &&
  error.cause.reason === "MLS_BAD_KEY_PACKAGE"

async function make(
  context: Context,
  conversationId: string,
  held: Held & { readonly seat: Seat },
  plan: Plan,
  options: CommitOptions,
): Promise<EngineCommit> {
  const { engine } = context
  const { group } = held.seat
  if (plan === "update") return engine.update(group, { ...options, identity: context.device.identity() })
  const { authorization, does, isAsked } = plan
  const proof = checkedProof(context, conversationId, held, plan)
  const allowed = new Set(authorization.keyPackageRefs.map(hex))
  const claimed = (authorization.claim?.keyPackages ?? []).filter((one) => allowed.has(hex(one.keyPackageRef)))
  const added = await Promise.all(claimed.map((one) => inspected(context, one, isAsked)))
  const roster = rosterOf(group)
  const removed = authorization.removedDeviceIds.map((deviceId) => {
    const member = roster.get(deviceId)
    if (member === undefined || !isAsked(member)) throw refused("somebody is to be removed that nobody asked for")
    return member
  })
  const own = [...roster.values()].find(({ leaf }) => leaf === group.ownLeaf)
  if (own === undefined || removed.some(({ leaf }) => leaf === group.ownLeaf)) throw refused("nobody removes itself")
  if (does !== "remove" && added.length + removed.length === 0) throw refused("nothing is to be done")
  if ((does === "add" || does === "reset") && removed.length > 0)
    throw refused("somebody is to be removed who was to be added")
  const isLeft = [...roster.values()].some((member) => isAsked(member) && !removed.includes(member))
  if (does === "remove" && (isLeft || added.length > 0)) throw refused("somebody who was to be removed stays")
  const hashAt = credentialHashes(held.seat)
  checkEffect(proof.body, {
    added,
    removed: removed.map(({ leaf }) => hashAt(leaf)),
    committer: hashAt(group.ownLeaf),
  })
  if (added.length > 0) {
    return engine.add(
      group,
      claimed.map(({ keyPackage }) => keyPackage),
      options,
    )
  }
  return engine.remove(
    group,
    removed.map(({ leaf }) => leaf),
    options,
  )
}

/** At the time that it names itself: what it is worth now is for the service to say. */
function checkedProof(
  context: Context,
  conversationId: string,
  { record, seat }: Held & { readonly seat: Seat },
  { does, authorization: { proof: signed } }: Authorized,
): MembershipProof {
  if (record === undefined) throw new TypeError("a seat has a record")
  const schema = MembershipProofBodyV1Schema
  const { issuedAt, baseStateTag } = decode(schema, parseSigned(schema, signed).body)
  const resets = does === "reset"
  const { group } = seat
  const proof = verifyMembershipProof(signed, {
    ...benchOf(context, conversationId, record),
    conversationId: bytesOfId("cnv", conversationId),
    mlsGroupId: group.groupId,
    baseEpoch: group.epoch,
    // The state of a group that this device is not in: the members of that one compare it.
    baseStateTag: resets ? baseStateTag : stateTag(group),
    atSeconds: issuedAt,
  })
  if ((proof.body.op === MembershipOp.RESET) !== resets) throw refused("a proof of another operation")
  if ((proof.body.op === MembershipOp.CREATE) !== (group.epoch === 0n)) throw refused("a proof of another operation")
  return proof
}

async function inspected(context: Context, claimed: ClaimedKeyPackage, isAsked: Authorized["isAsked"]) {
  const { reference, credential, signatureKey } = await context.engine.inspectKeyPackage(claimed.keyPackage)
  const realm = {
    issuerKeys: context.issuer.keys(),
    tenantId: context.owner.tenant,
    appId: context.owner.app,
    verify: context.verify,
  }
  const { hash: credentialHash } = verifyFresh(realm, { credential, signatureKey }, nowSeconds(context))
  const person = personOf(credential)
  const isWhole = equalBytes(reference, claimed.keyPackageRef) && person.deviceId === claimed.deviceId
  if (!isWhole || !isAsked(person)) throw refused("a key package of somebody that nobody asked for")
  return { credentialHash, keyPackageRef: reference }
}

function credentialHashes({ group }: Seat): (leaf: number) => Uint8Array {
  const byLeaf = new Map(membersOf(group).map(({ leaf, credential }) => [leaf, credential]))
  return (leaf) => hash("device-credential", byLeaf.get(leaf) ?? new Uint8Array())
}

function refused(message: string): MessagingError {
  return new MessagingError("ANSWER_REFUSED", message)
}
