// All imports of ts-mls. These modules are undocumented, so the library is pinned to one version. test/layout.test.ts
// fails for another version, and for an import from any other file.
export type { Capabilities } from "ts-mls/capabilities.js"
export { nextEpochContext } from "ts-mls/clientState.js"
export type { Decoder } from "ts-mls/codec/tlsDecoder.js"
export { encode } from "ts-mls/codec/tlsEncoder.js"
export { varLenDataEncoder } from "ts-mls/codec/variableLength.js"
export type { Commit } from "ts-mls/commit.js"
export type { Credential } from "ts-mls/credential.js"
export { credentialTypes } from "ts-mls/credentialType.js"
export { type CiphersuiteImpl, ciphersuites } from "ts-mls/crypto/ciphersuite.js"
export { deriveTreeSecret, expandWithLabel } from "ts-mls/crypto/kdf.js"
export { defaultExtensionTypes } from "ts-mls/defaultExtensionType.js"
export { type Extension, extensionTypeToNumber } from "ts-mls/extension.js"
export {
  createConfirmationTag,
  createContentCommitSignature,
  type FramedContent,
  type FramedContentCommit,
  signFramedContentApplicationOrProposal,
  toTbs,
  verifyFramedContentSignature,
} from "ts-mls/framedContent.js"
export { decodeGroupContext, encodeGroupContext, type GroupContext } from "ts-mls/groupContext.js"
export {
  decodeGroupInfo,
  encodeGroupInfo,
  extractWelcomeSecret,
  type GroupInfo,
  signGroupInfo,
  verifyGroupInfoSignature,
} from "ts-mls/groupInfo.js"
export { decodeGroupSecrets, encodeGroupSecrets, type GroupSecrets } from "ts-mls/groupSecrets.js"
export type { HPKECiphertext } from "ts-mls/hpkeCiphertext.js"
export {
  type KeyPackage,
  type KeyPackageTBS,
  makeKeyPackageRef,
  signKeyPackage,
  verifyKeyPackage,
} from "ts-mls/keyPackage.js"
export { deriveKeySchedule, initializeEpoch, initializeKeySchedule, type KeySchedule } from "ts-mls/keySchedule.js"
export {
  type LeafNode,
  type LeafNodeTBSCommit,
  type LeafNodeTBSKeyPackage,
  signLeafNodeCommit,
  signLeafNodeKeyPackage,
  verifyLeafNodeSignature,
} from "ts-mls/leafNode.js"
export { decodeMlsMessage, encodeMlsMessage, type MLSMessage } from "ts-mls/message.js"
export { protectPublicMessage, unprotectPublicMessage } from "ts-mls/messageProtectionPublic.js"
export { encodeParentHashInput } from "ts-mls/parentHash.js"
export type { ParentNode } from "ts-mls/parentNode.js"
export {
  decodePrivateMessageContent,
  decryptSenderData,
  encodePrivateContentAAD,
  encodePrivateMessageContent,
  encryptSenderData,
  type PrivateMessage,
} from "ts-mls/privateMessage.js"
export type { Proposal } from "ts-mls/proposal.js"
export { decodeProposalOrRef, encodeProposalOrRef, type ProposalOrRef } from "ts-mls/proposalOrRefType.js"
export type { PublicMessage } from "ts-mls/publicMessage.js"
export type { Node } from "ts-mls/ratchetTree.js"
export { decodeRequiredCapabilities, encodeRequiredCapabilities } from "ts-mls/requiredCapabilities.js"
export { decodeReuseGuard, decodeSender, encodeSender, type SenderData } from "ts-mls/sender.js"
export { parentNodeHashInputEncoder } from "ts-mls/treeHash.js"
export type { UpdatePath } from "ts-mls/updatePath.js"
export { encryptGroupInfo, type Welcome, welcomeKey, welcomeNonce } from "ts-mls/welcome.js"
