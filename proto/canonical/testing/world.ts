// Fixed test data for tests and vectors. The seeds are public, so nothing here is secret.
import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { ConversationKind } from "@signet/proto/credential/v1/envelope_aad"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"
import { issueClaimTicket, type TicketExpectation } from "../claim-ticket.ts"
import { issueCommitReceipt, type ReceiptExpectation } from "../commit-receipt.ts"
import { type CredentialExpectation, issueDeviceCredential } from "../device-credential.ts"
import { type DeviceListExpectation, issueDeviceList } from "../device-list.ts"
import { seedSigner } from "../ed25519.ts"
import { hash, issuerIdOf, stateTagOf } from "../hash.ts"
import { issueIssuerKeySet, verifyIssuerKeySet } from "../issuer-keys.ts"
import { issueMembershipProof, type ProofExpectation } from "../membership-proof.ts"

/** 16 bytes with this value. */
export const id = (value: number): Uint8Array => new Uint8Array(16).fill(value)
/** 32 bytes with this value. */
export const bytes32 = (value: number): Uint8Array => new Uint8Array(32).fill(value)
/** The signer whose seed is 32 bytes with this value. */
export const signerOf = (value: number) => seedSigner(bytes32(value))

/** Unix seconds: inside every validity period. */
export const now = 1_800_000_000n
export const day = 86_400n
export const issuerUrl = "https://auth.example"
export const issuerId = issuerIdOf(issuerUrl)
export const tenantId = id(0x22)
export const appId = id(0x33)
export const alice = id(0x44)
export const bob = id(0x55)
export const phone = id(0x66)
export const conversationId = id(0x77)
export const mlsGroupId = Uint8Array.of(...conversationId, ...id(0x78))
export const kind = ConversationKind.GROUP
export const confirmationTag = bytes32(0x99)

export const root = signerOf(1)
export const credentialKey = signerOf(2)
export const proofKey = signerOf(3)
export const receiptKey = signerOf(4)
export const listKey = signerOf(5)
/** A credential key that is no longer valid at `now`. */
export const retiredKey = signerOf(6)
/** A key outside every key set. */
export const strangerKey = signerOf(7)
export const leaf = signerOf(8)
export const otherLeaf = signerOf(9)

const lifetime = { scheme: SignatureScheme.ED25519, notBefore: now - 100n * day, notAfter: now + 500n * day }

/** The fields of the test key set. */
export const keySetFields = {
  issuerId,
  setVersion: 7n,
  notBefore: now - day,
  notAfter: now + 90n * day,
  keys: [
    { ...lifetime, key: credentialKey.publicKey, purpose: KeyPurpose.CREDENTIAL },
    { ...lifetime, key: proofKey.publicKey, purpose: KeyPurpose.PROOF },
    { ...lifetime, key: receiptKey.publicKey, purpose: KeyPurpose.RECEIPT },
    { ...lifetime, key: listKey.publicKey, purpose: KeyPurpose.LIST },
    { ...lifetime, key: retiredKey.publicKey, purpose: KeyPurpose.CREDENTIAL, notAfter: now },
  ],
}
export const keySetBytes = await issueIssuerKeySet(keySetFields, root)
export const issuerKeys = verifyIssuerKeySet(keySetBytes, { roots: [root.publicKey], issuerId, atSeconds: now })

/** The credential of Alice's phone. */
export const credentialFields = {
  issuerId,
  tenantId,
  appId,
  userId: alice,
  deviceId: phone,
  leafSignatureKey: leaf.publicKey,
  serial: 3n,
  notBefore: now - day,
  notAfter: now + 89n * day,
  flags: 1,
}
export const credentialBytes = await issueDeviceCredential(credentialFields, credentialKey)
export const credentialExpectation: CredentialExpectation = {
  issuerKeys,
  tenantId,
  appId,
  leafKey: leaf.publicKey,
  atSeconds: now,
}

/** A proof by which Alice's phone adds two leaves in epoch 4. */
export const proofFields = {
  issuerId,
  tenantId,
  appId,
  conversationId,
  mlsGroupId,
  baseEpoch: 4n,
  baseStateTag: stateTagOf(confirmationTag),
  op: MembershipOp.ADD,
  added: [
    { credentialHash: bytes32(0xa1), keyPackageRef: bytes32(0xb1) },
    { credentialHash: bytes32(0xa2), keyPackageRef: bytes32(0xb2) },
  ],
  requester: hash("device-credential", credentialBytes),
  decisionId: id(0xd1),
  issuedAt: now - 10n,
  policyVersion: 12n,
}
export const proofBytes = await issueMembershipProof(proofFields, proofKey)
export const proofExpectation: ProofExpectation = {
  issuerKeys,
  tenantId,
  appId,
  conversationId,
  mlsGroupId,
  baseEpoch: 4n,
  baseStateTag: stateTagOf(confirmationTag),
  atSeconds: now,
}

/** The receipt of that commit, the ninth envelope. */
export const receiptFields = {
  issuerId,
  conversationId,
  mlsGroupId,
  epoch: 4n,
  seq: 9n,
  commitHash: bytes32(0xc1),
  proofHash: hash("membership-proof", proofBytes),
  groupInfoHash: bytes32(0xc2),
  treeBlobHash: bytes32(0xc3),
  previousReceiptHash: bytes32(0xc4),
  acceptedAtMs: now * 1000n + 250n,
  resultingStateTag: stateTagOf(bytes32(0x9a)),
}
export const receiptBytes = issueCommitReceipt(receiptFields, receiptKey)
export const receiptExpectation: ReceiptExpectation = {
  issuerKeys,
  conversationId,
  mlsGroupId,
  epoch: 4n,
  seq: 9n,
  commitHash: bytes32(0xc1),
  proofHash: hash("membership-proof", proofBytes),
  previous: { hash: bytes32(0xc4), acceptedAtMs: now * 1000n },
  nowMs: now * 1000n + 400n,
}

/** Two packages that Alice's phone claimed to add their owners. */
export const ticketFields = {
  issuerId,
  tenantId,
  appId,
  claimId: id(0xf1),
  conversationId,
  requesterDeviceId: phone,
  packages: [
    { deviceId: id(0xf2), credentialHash: bytes32(0xa1), keyPackageRef: bytes32(0xb1) },
    { deviceId: id(0xf3), credentialHash: bytes32(0xa2), keyPackageRef: bytes32(0xb2) },
  ],
  issuedAt: now - 60n,
}
export const ticketBytes = issueClaimTicket(ticketFields, receiptKey)
export const ticketExpectation: TicketExpectation = {
  issuerKeys,
  tenantId,
  appId,
  conversationId,
  requesterDeviceId: phone,
  atSeconds: now,
}

/** Alice's devices: the phone, and a revoked one. */
export const listFields = {
  issuerId,
  tenantId,
  appId,
  userId: alice,
  listVersion: 3n,
  previousHash: bytes32(0xe1),
  entries: [
    {
      deviceId: phone,
      credentialHash: hash("device-credential", credentialBytes),
      status: DeviceStatus.ACTIVE,
      changedAt: now - day,
    },
    { deviceId: id(0x67), credentialHash: bytes32(0xa3), status: DeviceStatus.REVOKED, changedAt: now - 2n * day },
  ],
  issuedAt: now - day,
}
export const listBytes = await issueDeviceList(listFields, listKey)
export const listExpectation: DeviceListExpectation = { issuerKeys, tenantId, appId, userId: alice, atSeconds: now }
