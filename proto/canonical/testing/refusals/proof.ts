import { create } from "@bufbuild/protobuf"
import {
  MembershipOp,
  type MembershipProofBodyV1,
  MembershipProofBodyV1Schema,
  MembershipSubjectV1Schema,
} from "@signet/proto/credential/v1/policy_proof"
import { concat } from "../../bytes.ts"
import { stateTagOf } from "../../hash.ts"
import { verifyMembershipProof } from "../../membership-proof.ts"
import * as world from "../world.ts"
import { partsOf, type Refusal, resigned, signedRaw, table, tampered } from "./refusal.ts"

const { proofBytes, proofFields, proofKey, now, bytes32, id } = world
const schema = MembershipProofBodyV1Schema
const { issuedAt } = proofFields
const expiresAt = issuedAt + 300n
const changed = (change: Partial<MembershipProofBodyV1>) => resigned(schema, proofBytes, change, proofKey)

const none = new Uint8Array(0)
const leaf = create(MembershipSubjectV1Schema, { credentialHash: bytes32(0xa9) })
const newLeaf = create(MembershipSubjectV1Schema, { credentialHash: bytes32(0xa9), keyPackageRef: bytes32(0xb9) })
const creates = { op: MembershipOp.CREATE, baseEpoch: 0n, baseStateTag: none }
const removes = { op: MembershipOp.REMOVE, added: [], removed: [leaf] }
const { ADD, LEAVE, REJOIN } = MembershipOp

export const proofRefusals: readonly Refusal[] = table("proof", verifyMembershipProof, world.proofExpectation, [
  ["a valid proof", proofBytes, {}, "ok"],
  ["one that removes", changed(removes), {}, "ok"],
  ["one that lets leave", changed({ ...removes, op: LEAVE }), {}, "ok"],
  ["one that lets rejoin: out", changed({ ...removes, op: REJOIN }), {}, "ok"],
  ["one that lets rejoin: in", changed({ op: REJOIN, added: [newLeaf] }), {}, "ok"],
  ["a directive", changed({ ...removes, requester: none }), {}, "ok"],
  ["one that creates, whatever the state tag", changed(creates), { baseEpoch: 0n, baseStateTag: bytes32(1) }, "ok"],
  ["not an envelope", Uint8Array.of(1), {}, "PROOF_MALFORMED"],
  [
    "a byte after the body, well signed",
    signedRaw(schema, concat(partsOf(proofBytes).body, Uint8Array.of(0)), proofKey),
    {},
    "PROOF_MALFORMED",
  ],
  ["changes nothing", changed({ added: [] }), {}, "PROOF_MALFORMED"],
  ["adds and removes", changed({ removed: [leaf] }), {}, "PROOF_MALFORMED"],
  ["removes by ADD", changed({ ...removes, op: ADD }), {}, "PROOF_MALFORMED"],
  ["adds by REMOVE", changed({ op: MembershipOp.REMOVE }), {}, "PROOF_MALFORMED"],
  ["adds by LEAVE", changed({ op: LEAVE }), {}, "PROOF_MALFORMED"],
  ["rejoins two devices", changed({ op: REJOIN }), {}, "PROOF_MALFORMED"],
  ["adds without a key package", changed({ added: [leaf] }), {}, "PROOF_MALFORMED"],
  ["removes with a key package", changed({ ...removes, removed: [newLeaf] }), {}, "PROOF_MALFORMED"],
  ["names no state", changed({ baseStateTag: none }), {}, "PROOF_MALFORMED"],
  ["creates from a state", changed({ ...creates, baseStateTag: bytes32(1) }), {}, "PROOF_MALFORMED"],
  ["creates later than epoch 0", changed({ ...creates, baseEpoch: 4n }), {}, "PROOF_MALFORMED"],
  ["creates by directive", changed({ ...creates, requester: none }), {}, "PROOF_MALFORMED"],
  ["lives 301 seconds", changed({ expiresAt: expiresAt + 1n }), {}, "PROOF_MALFORMED"],
  ["lives not at all", changed({ expiresAt: issuedAt }), {}, "PROOF_MALFORMED"],
  [
    "signed by a key that no set holds",
    resigned(schema, proofBytes, {}, world.strangerKey),
    {},
    "PROOF_UNKNOWN_ISSUER_KEY",
  ],
  [
    "signed by the key for receipts",
    resigned(schema, proofBytes, {}, world.receiptKey),
    {},
    "PROOF_ISSUER_KEY_PURPOSE",
  ],
  [
    "signed by the key for credentials",
    resigned(schema, proofBytes, {}, world.credentialKey),
    {},
    "PROOF_ISSUER_KEY_PURPOSE",
  ],
  ["tampered", tampered(proofBytes), {}, "PROOF_BAD_SIGNATURE"],
  ["of another issuer", changed({ issuerId: id(9) }), {}, "PROOF_WRONG_ISSUER"],
  ["judged after its key's time", proofBytes, { atSeconds: now + 500n * world.day }, "PROOF_ISSUER_KEY_NOT_VALID"],
  ["of another tenant", proofBytes, { tenantId: id(9) }, "PROOF_WRONG_TENANT"],
  ["of a tenant where none is expected", proofBytes, { tenantId: undefined }, "PROOF_WRONG_TENANT"],
  ["of another app", proofBytes, { appId: id(9) }, "PROOF_WRONG_APP"],
  ["of another conversation", proofBytes, { conversationId: id(9) }, "PROOF_WRONG_CONVERSATION"],
  ["of another group of the conversation", proofBytes, { mlsGroupId: bytes32(9) }, "PROOF_WRONG_GROUP"],
  ["of an epoch that has passed", proofBytes, { baseEpoch: 5n }, "PROOF_STALE"],
  ["of an epoch to come", proofBytes, { baseEpoch: 3n }, "PROOF_FUTURE_EPOCH"],
  ["of another fork", proofBytes, { baseStateTag: stateTagOf(bytes32(0x9b)) }, "PROOF_FORK"],
  ["at its first second", proofBytes, { atSeconds: issuedAt }, "ok"],
  ["a second before", proofBytes, { atSeconds: issuedAt - 1n }, "PROOF_NOT_YET_VALID"],
  ["at its last second", proofBytes, { atSeconds: expiresAt - 1n }, "ok"],
  ["at its expiry", proofBytes, { atSeconds: expiresAt }, "PROOF_EXPIRED"],
])
