import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import {
  type MembershipProofBodyV1,
  MembershipProofBodyV1Schema,
  MembershipOp as Op,
} from "@signet/proto/credential/v1/policy_proof"
import { equalBytes, holds } from "./bytes.ts"
import type { Signer, Verify } from "./ed25519.ts"
import { ensure } from "./errors.ts"
import { hash } from "./hash.ts"
import { ensureKeyTime, type IssuedKind, type IssuerKeys, openIssued } from "./issued.ts"
import { sign } from "./signed.ts"

/** Maximum and default lifetime of a membership proof. */
const maxProofSeconds = 300n

/** A verified membership proof. */
export interface MembershipProof {
  readonly body: MembershipProofBodyV1
  /** H("membership-proof", signed bytes): 32 bytes. The receipt names it. */
  readonly hash: Uint8Array
}

/** The verifier's own knowledge: the conversation in the state that the commit starts from. */
export interface ProofExpectation {
  readonly issuerKeys: IssuerKeys
  /** 16 bytes. Undefined requires that the proof has no tenant. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly conversationId: Uint8Array
  readonly mlsGroupId: Uint8Array
  /** The epoch of the commit. */
  readonly baseEpoch: bigint
  /** The state tag of that epoch (hash.ts). A proof that creates the conversation has none. */
  readonly baseStateTag: Uint8Array
  /** When the commit is accepted, in Unix seconds: the server's clock, or the receipt's `accepted_at_ms / 1000n`. */
  readonly atSeconds: bigint
  readonly verify?: Verify
}

const membershipProof: IssuedKind<MembershipProofBodyV1> = {
  prefix: "PROOF",
  schema: MembershipProofBodyV1Schema,
  purpose: KeyPurpose.PROOF,
  ensureSound,
}

/**
 * Signs a membership proof. Fills in the format version and, if missing, `expiresAt`.
 *
 * @throws CanonicalError PROOF_MALFORMED, CPB_*
 */
export async function issueMembershipProof(
  init: MessageInitShape<typeof MembershipProofBodyV1Schema>,
  signer: Signer,
): Promise<Uint8Array> {
  const body = create(MembershipProofBodyV1Schema, init)
  body.version = 1
  if (body.expiresAt === 0n) body.expiresAt = body.issuedAt + maxProofSeconds
  ensureSound(body)
  return sign(MembershipProofBodyV1Schema, body, signer)
}

/**
 * Verifies a membership proof against the conversation that it changes. `checkEffect` (membership-effect.ts) compares
 * it with the commit.
 *
 * @param bytes A SignedBytesV1 as received. It is verified before its body is decoded.
 * @throws CanonicalError PROOF_*, in the order of the list in errors.ts: another conversation is reported before
 * another state; PROOF_STALE for an earlier epoch, PROOF_FORK for the same epoch of another history.
 * @see proto/signet/credential/v1/policy_proof.proto
 */
export function verifyMembershipProof(bytes: Uint8Array, expected: ProofExpectation): MembershipProof {
  const { issuerKeys, atSeconds } = expected
  const { body, key } = openIssued(membershipProof, bytes, issuerKeys, expected.verify)
  ensureKeyTime("PROOF", key, atSeconds)
  ensure(holds(body.tenantId, expected.tenantId), "PROOF_WRONG_TENANT")
  ensure(equalBytes(body.appId, expected.appId), "PROOF_WRONG_APP")
  ensure(equalBytes(body.conversationId, expected.conversationId), "PROOF_WRONG_CONVERSATION")
  ensure(equalBytes(body.mlsGroupId, expected.mlsGroupId), "PROOF_WRONG_GROUP")
  ensure(body.baseEpoch >= expected.baseEpoch, "PROOF_STALE")
  ensure(body.baseEpoch <= expected.baseEpoch, "PROOF_FUTURE_EPOCH")
  ensure(body.op === Op.CREATE || equalBytes(body.baseStateTag, expected.baseStateTag), "PROOF_FORK")
  ensure(body.issuedAt <= atSeconds, "PROOF_NOT_YET_VALID")
  ensure(atSeconds < body.expiresAt, "PROOF_EXPIRED")
  return { body, hash: hash("membership-proof", bytes) }
}

/** Checks what each operation may contain: adds or removes, and who may commit it. */
function ensureSound(body: MembershipProofBodyV1): void {
  const adds = body.added.length
  const removes = body.removed.length
  ensure((adds === 0) !== (removes === 0), "PROOF_MALFORMED", "one kind of change")
  ensure(isShapeOf(body.op, adds, removes), "PROOF_MALFORMED", "op")
  const creates = body.op === Op.CREATE
  ensure(creates === (body.baseStateTag.length === 0), "PROOF_MALFORMED", "base_state_tag")
  ensure(!creates || (body.baseEpoch === 0n && body.requester.length > 0), "PROOF_MALFORMED", "create")
  const resets = body.op === Op.RESET
  ensure(!resets || (body.baseEpoch > 0n && body.requester.length > 0), "PROOF_MALFORMED", "reset")
  ensure(
    body.added.every((subject) => subject.keyPackageRef.length > 0),
    "PROOF_MALFORMED",
    "added key_package_ref",
  )
  ensure(
    body.removed.every((subject) => subject.keyPackageRef.length === 0),
    "PROOF_MALFORMED",
    "removed key_package_ref",
  )
  const lifetime = body.expiresAt - body.issuedAt
  ensure(lifetime > 0n && lifetime <= maxProofSeconds, "PROOF_MALFORMED", "expires_at")
}

function isShapeOf(op: number, adds: number, removes: number): boolean {
  switch (op) {
    case Op.CREATE:
    case Op.ADD:
    case Op.RESET:
      return removes === 0
    case Op.REMOVE:
    case Op.LEAVE:
      return adds === 0
    case Op.REJOIN:
      return adds + removes === 1
    default:
      return false
  }
}
