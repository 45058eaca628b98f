// Decodes and encodes the messages that have many parts: a commit adds up to 256 devices, a path has up to 2,048
// ciphertexts, a Welcome up to 1,024 recipients. ts-mls decodes the other messages, and the other proposals.
import { ByteReader } from "./byte-reader.ts"
import { ByteWriter } from "./byte-writer.ts"
import {
  readExtension,
  readLeaf,
  readVersion,
  suiteName,
  suiteNumber,
  writeExtension,
  writeLeaf,
  writeVersion,
} from "./leaf-bytes.ts"
import { demand } from "./refusal.ts"
import {
  type Commit,
  type Decoder,
  decodeMlsMessage,
  decodeProposalOrRef,
  decodeSender,
  encodeMlsMessage,
  encodeProposalOrRef,
  encodeSender,
  type HPKECiphertext,
  type KeyPackage,
  type MLSMessage,
  type ProposalOrRef,
  type UpdatePath,
  type Welcome,
} from "./ts-mls.ts"

// Wire formats, and a content type (RFC 9420 section 6).
const publicMessage = 1
const welcome = 3
const commit = 3
/** ProposalOrRef (section 12.4) of an Add, up to its key package. */
const addPrefix = [1, 0, 1]

/** Decodes one MLSMessage to what `decodeMlsMessage` of ts-mls returns. @throws For malformed bytes. */
export const decodeMessage: Decoder<MLSMessage> = (bytes, offset) => {
  const part = new ByteReader(bytes, offset)
  const version = readVersion(part)
  const wireformat = part.uint16()
  if (wireformat === welcome) {
    return [{ version, wireformat: "mls_welcome", welcome: readWelcome(part) }, part.at - offset]
  }
  if (wireformat !== publicMessage) return decodeMlsMessage(bytes, offset)
  const data = {
    groupId: part.opaque(),
    epoch: part.uint64(),
    sender: part.by(decodeSender),
    authenticatedData: part.opaque(),
  }
  if (part.uint8() !== commit) return decodeMlsMessage(bytes, offset)
  const content = { ...data, contentType: "commit", commit: readCommit(part) } as const
  const auth = { contentType: "commit", signature: part.opaque(), confirmationTag: part.opaque() } as const
  const { senderType } = data.sender
  const info = senderType === "member" ? { senderType, membershipTag: part.opaque() } : { senderType }
  return [{ version, wireformat: "mls_public_message", publicMessage: { ...info, content, auth } }, part.at - offset]
}

/** Encodes one MLSMessage to what `encodeMlsMessage` of ts-mls returns. */
export function encodeMessage(message: MLSMessage): Uint8Array {
  const part = new ByteWriter()
  writeVersion(part)
  if (message.wireformat === "mls_welcome") {
    part.uint16(welcome)
    writeWelcome(part, message.welcome)
    return part.written()
  }
  if (message.wireformat !== "mls_public_message") return encodeMlsMessage(message)
  const { content, auth } = message.publicMessage
  if (content.contentType !== "commit" || auth.contentType !== "commit") return encodeMlsMessage(message)
  part.uint16(publicMessage)
  part.opaque(content.groupId)
  part.uint64(content.epoch)
  part.raw(encodeSender(content.sender))
  part.opaque(content.authenticatedData)
  part.uint8(commit)
  writeCommit(part, content.commit)
  part.opaque(auth.signature)
  part.opaque(auth.confirmationTag)
  if (message.publicMessage.senderType === "member") part.opaque(message.publicMessage.membershipTag)
  return part.written()
}

/** Section 12.4. As in ts-mls, any first byte of an optional except 1 means absent. */
function readCommit(part: ByteReader): Commit {
  return { proposals: part.list(readProposal), path: part.uint8() === 1 ? readPath(part) : undefined }
}

function writeCommit(part: ByteWriter, { proposals, path }: Commit): void {
  part.list(proposals, writeProposal)
  part.uint8(path === undefined ? 0 : 1)
  if (path !== undefined) writePath(part, path)
}

function readProposal(part: ByteReader): ProposalOrRef {
  if (!part.skipped(addPrefix)) return part.by(decodeProposalOrRef)
  return { proposalOrRefType: "proposal", proposal: { proposalType: "add", add: { keyPackage: readKeyPackage(part) } } }
}

function writeProposal(part: ByteWriter, proposal: ProposalOrRef): void {
  if (proposal.proposalOrRefType === "proposal" && proposal.proposal.proposalType === "add") {
    for (const byte of addPrefix) part.uint8(byte)
    writeKeyPackage(part, proposal.proposal.add.keyPackage)
  } else part.raw(encodeProposalOrRef(proposal))
}

/** Section 10. */
function readKeyPackage(part: ByteReader): KeyPackage {
  const version = readVersion(part)
  const cipherSuite = suiteName(part.uint16())
  const initKey = part.opaque()
  const leafNode = readLeaf(part)
  demand(leafNode.leafNodeSource === "key_package", "MLS_MALFORMED", "a key package has a leaf of another source")
  const extensions = part.list(readExtension)
  return { version, cipherSuite, initKey, leafNode, extensions, signature: part.opaque() }
}

function writeKeyPackage(part: ByteWriter, keyPackage: KeyPackage): void {
  writeVersion(part)
  part.uint16(suiteNumber(keyPackage.cipherSuite))
  part.opaque(keyPackage.initKey)
  writeLeaf(part, keyPackage.leafNode)
  part.list(keyPackage.extensions, writeExtension)
  part.opaque(keyPackage.signature)
}

/** Section 7.6. */
function readPath(part: ByteReader): UpdatePath {
  const leafNode = readLeaf(part)
  demand(leafNode.leafNodeSource === "commit", "MLS_MALFORMED", "a path has a leaf of another source")
  return { leafNode, nodes: part.list(readPathNode) }
}

function writePath(part: ByteWriter, { leafNode, nodes }: UpdatePath): void {
  writeLeaf(part, leafNode)
  part.list(nodes, writePathNode)
}

type PathNode = UpdatePath["nodes"][number]

function readPathNode(part: ByteReader): PathNode {
  return { hpkePublicKey: part.opaque(), encryptedPathSecret: part.list(readCiphertext) }
}

function writePathNode(part: ByteWriter, { hpkePublicKey, encryptedPathSecret }: PathNode): void {
  part.opaque(hpkePublicKey)
  part.list(encryptedPathSecret, writeCiphertext)
}

function readCiphertext(part: ByteReader): HPKECiphertext {
  return { kemOutput: part.opaque(), ciphertext: part.opaque() }
}

function writeCiphertext(part: ByteWriter, { kemOutput, ciphertext }: HPKECiphertext): void {
  part.opaque(kemOutput)
  part.opaque(ciphertext)
}

/** Section 12.4.3.1. */
function readWelcome(part: ByteReader): Welcome {
  const cipherSuite = suiteName(part.uint16())
  return { cipherSuite, secrets: part.list(readRecipient), encryptedGroupInfo: part.opaque() }
}

function writeWelcome(part: ByteWriter, { cipherSuite, secrets, encryptedGroupInfo }: Welcome): void {
  part.uint16(suiteNumber(cipherSuite))
  part.list(secrets, writeRecipient)
  part.opaque(encryptedGroupInfo)
}

type Recipient = Welcome["secrets"][number]

function readRecipient(part: ByteReader): Recipient {
  return { newMember: part.opaque(), encryptedGroupSecrets: readCiphertext(part) }
}

function writeRecipient(part: ByteWriter, { newMember, encryptedGroupSecrets }: Recipient): void {
  part.opaque(newMember)
  writeCiphertext(part, encryptedGroupSecrets)
}
