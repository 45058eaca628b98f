// @signet/canonical: the canonical encoding of signed messages, and their verification.
export { decode, encode } from "./canonical.ts"
export { type TicketExpectation, verifyClaimTicket } from "./claim-ticket.ts"
export {
  type CommitReceipt,
  checkResultingState,
  type ReceiptExpectation,
  verifyCommitReceipt,
} from "./commit-receipt.ts"
export { type ConversationIdentity, checkConversationBinding } from "./conversation-binding.ts"
export { type CredentialExpectation, type DeviceCredential, verifyDeviceCredential } from "./device-credential.ts"
export { type DeviceList, type DeviceListExpectation, placeAfter, verifyDeviceList } from "./device-list.ts"
export { type DeviceProofExpectation, verifyDeviceProof } from "./device-proof.ts"
export { type DeviceRequestExpectation, verifyDeviceRequest } from "./device-request.ts"
export type { Verify } from "./ed25519.ts"
export { parseEnvelopeAad } from "./envelope-aad.ts"
export { type CanonicalCode, CanonicalError, canonicalCodes } from "./errors.ts"
export { type HashLabel, hash } from "./hash.ts"
export { type IssuerKeySetExpectation, type IssuerKeys, verifyIssuerKeySet } from "./issuer-keys.ts"
export { type CommitEffect, checkEffect } from "./membership-effect.ts"
export { type MembershipProof, type ProofExpectation, verifyMembershipProof } from "./membership-proof.ts"
export {
  deviceFingerprint,
  type SafetyDevice,
  type SafetyUser,
  safetyNumber,
  userFingerprint,
} from "./safety-number.ts"
