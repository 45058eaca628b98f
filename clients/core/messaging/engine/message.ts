import { equal, wipe } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import { type Member, memberOf } from "./leaf.ts"
import { demand, MlsError } from "./refusal.ts"
import { type MessageKey, nextGeneration, takeKey } from "./secret-tree.ts"
import { closed, type GroupState, type Inside, opened } from "./state.ts"
import { decodeStrictly, maxBytes, strictMessage } from "./strict.ts"
import { leafAt } from "./tree.ts"
import {
  decodePrivateMessageContent,
  decodeReuseGuard,
  decryptSenderData,
  encodeMlsMessage,
  encodePrivateContentAAD,
  encodePrivateMessageContent,
  encryptSenderData,
  type FramedContent,
  type PrivateMessage,
  type SenderData,
  signFramedContentApplicationOrProposal,
  toTbs,
  verifyFramedContentSignature,
} from "./ts-mls.ts"

const minPaddedBytes = 256
const stepBytes = 32 * 1024
export const maxPlaintextBytes = 220 * 1024
/** Leaf index, generation, reuse guard, and the tag of their AEAD. */
const sealedSenderBytes = 12 + 16
const unpadded = encodePrivateMessageContent({ kind: "alwaysPad", paddingLength: 0 })

/** The state after a ratchet step. Store `next` durably, then call `finish`, which wipes the used message key. */
export interface Turned {
  readonly next: GroupState
  readonly finish: () => void
}

export interface Encrypted extends Turned {
  /** MLSMessage of wire format mls_private_message. */
  readonly message: Uint8Array
}

export interface Decrypted extends Turned {
  readonly plaintext: Uint8Array
  /** Authenticated data, not secret. */
  readonly aad: Uint8Array
  /** The sender, authenticated by its ratchet and by its leaf's signature. */
  readonly sender: Member
  /** Number of the sender's earlier messages of this epoch that were skipped: they were not decrypted. */
  readonly skipped: number
  /** True for a message that was skipped before. */
  readonly isLate: boolean
}

/**
 * Encrypts an application message, padded to 256 bytes, to powers of two up to 32 KiB, and to steps of 32 KiB above.
 *
 * Two messages from one state would share a key, so the caller must store `next` durably before it sends the message.
 *
 * @param plaintext At most 220 KiB, so that padding and frame stay within the server's limit of 256 KiB.
 */
export async function encrypt(kit: Kit, state: GroupState, plaintext: Uint8Array, aad: Uint8Array): Promise<Encrypted> {
  const inside = opened(state)
  const { context, ownLeaf, epochSecrets } = inside
  demand(plaintext.length <= maxPlaintextBytes, "MLS_TOO_LARGE", "a message has at most 220 KiB")
  const { groupId, epoch } = context
  const framed = {
    groupId,
    epoch,
    sender: { senderType: "member", leafIndex: ownLeaf },
    authenticatedData: aad,
    contentType: "application",
    applicationData: plaintext,
  } as const
  const tbs = {
    ...toTbs(framed, "mls_private_message", context),
    content: framed,
    senderType: "member",
    context,
  } as const
  const auth = await signFramedContentApplicationOrProposal(inside.identityKey, tbs, kit.cs)
  const padded = pad(unpadded({ contentType: "application", applicationData: plaintext, auth }))

  const taken = await takeKey(kit, inside.secretTree, ownLeaf)
  const reuseGuard = decodeReuseGuard(kit.suite.random(4), 0)?.[0]
  demand(reuseGuard !== undefined, "MLS_MALFORMED", "four random bytes")
  const outer = { groupId, epoch, contentType: "application", authenticatedData: aad } as const
  const nonce = guarded(taken.nonce, reuseGuard)
  const ciphertext = await kit.suite.seal(taken.key, nonce, encodePrivateContentAAD(outer), padded)
  wipe([padded, taken.key, taken.nonce])
  const senderData: SenderData = { leafIndex: ownLeaf, generation: taken.generation, reuseGuard }
  const encryptedSenderData = await encryptSenderData(epochSecrets.senderData, senderData, outer, ciphertext, kit.cs)
  const privateMessage: PrivateMessage = { ...outer, encryptedSenderData, ciphertext }
  const message = encodeMlsMessage({ version: "mls10", wireformat: "mls_private_message", privateMessage })
  demand(message.length <= maxBytes.application, "MLS_TOO_LARGE", "too much authenticated data")
  return { ...turned(inside, taken), message }
}

/**
 * Decrypts another member's application message of the current epoch.
 *
 * The sender is trusted only after decryption and after its signature is verified (defect E8).
 *
 * @throws MlsError; the state is unchanged.
 */
export async function decrypt(kit: Kit, state: GroupState, bytes: Uint8Array): Promise<Decrypted> {
  const inside = opened(state)
  const { context, tree, epochSecrets, ownLeaf } = inside
  const { privateMessage } = strictMessage(bytes, maxBytes.application, "mls_private_message")
  const { groupId, epoch, contentType, authenticatedData, ciphertext } = privateMessage
  demand(equal(groupId, context.groupId), "MLS_WRONG_GROUP", "the message is of another group")
  demand(epoch >= context.epoch, "REPLAY", "the message is of an earlier epoch")
  demand(epoch === context.epoch, "EPOCH_GAP", "the message is of a later epoch")
  demand(contentType === "application", "MLS_WRONG_WIRE_FORMAT", "handshakes are public messages")

  const { leafIndex, generation, reuseGuard } = await openSenderData(kit, epochSecrets.senderData, privateMessage)
  const node = leafAt(tree, leafIndex)
  demand(node !== undefined, "MLS_BAD_SENDER", "the sender's leaf is blank")
  const isOwn = leafIndex === ownLeaf
  const isMade = isOwn && generation < nextGeneration(inside.secretTree, ownLeaf)
  demand(!isMade, "OWN_REPLAY", "this device has sent another message with this generation")
  const taken = await takeKey(kit, inside.secretTree, leafIndex, generation)
  const aad = encodePrivateContentAAD({ groupId, epoch, contentType, authenticatedData })
  const nonce = guarded(taken.nonce, reuseGuard)
  const padded = await openCiphertext(kit, taken, nonce, aad, ciphertext)
  const content = decodeStrictly(padded, maxBytes.application, decodePrivateMessageContent("application"), (value) =>
    padTo(unpadded(value), padded.length),
  )
  wipe([padded, taken.key, taken.nonce])
  demand(content.contentType === "application", "MLS_MALFORMED", "not an application message")
  const framed: FramedContent = {
    groupId,
    epoch,
    sender: { senderType: "member", leafIndex },
    authenticatedData,
    contentType,
    applicationData: content.applicationData,
  }
  const { signature } = kit.cs
  const signed = await verifyFramedContentSignature(
    node.signaturePublicKey,
    "mls_private_message",
    framed,
    content.auth,
    context,
    signature,
  )
  demand(signed, "MLS_BAD_SIGNATURE", "not signed by its sender")
  // Every member can name this leaf as the sender. Only this device can have signed for it.
  demand(!isOwn, "OWN_UNKNOWN", "a message of this leaf that this device has not sent")
  const sender = memberOf(leafIndex, node)
  const { skipped, isLate } = taken
  return {
    ...turned(inside, taken),
    plaintext: content.applicationData,
    aad: authenticatedData,
    sender,
    skipped,
    isLate,
  }
}

async function openSenderData(kit: Kit, secret: Uint8Array, message: PrivateMessage): Promise<SenderData> {
  const isSized = message.encryptedSenderData.length === sealedSenderBytes
  demand(isSized, "MLS_MALFORMED", "the sender data has another length")
  const senderData = await decryptSenderData(message, secret, kit.cs).catch(undecryptable)
  demand(senderData !== undefined, "MLS_MALFORMED", "the sender data is missing")
  return senderData
}

/** The generation of an application message of the current epoch, as its sender data names it. @throws MlsError */
export async function generationOf(kit: Kit, state: GroupState, bytes: Uint8Array): Promise<number> {
  const { privateMessage } = strictMessage(bytes, maxBytes.application, "mls_private_message")
  return (await openSenderData(kit, opened(state).epochSecrets.senderData, privateMessage)).generation
}

function turned(inside: Inside, taken: MessageKey): Turned {
  return { next: closed({ ...inside, secretTree: taken.next }), finish: () => wipe(taken.spent) }
}

async function openCiphertext(
  kit: Kit,
  { key }: MessageKey,
  nonce: Uint8Array,
  aad: Uint8Array,
  ciphertext: Uint8Array,
): Promise<Uint8Array> {
  try {
    return await kit.suite.open(key, nonce, aad, ciphertext)
  } catch (cause) {
    return undecryptable(cause)
  }
}

function undecryptable(cause: unknown): never {
  throw new MlsError("MLS_UNDECRYPTABLE", "the message does not open", { cause })
}

/** The nonce with the reuse guard in its first four bytes (RFC 9420 section 6.3.1). */
function guarded(nonce: Uint8Array, guard: Uint8Array): Uint8Array {
  return nonce.map((byte, i) => byte ^ (guard[i] ?? 0))
}

function pad(content: Uint8Array): Uint8Array {
  let length = minPaddedBytes
  while (length < content.length) length += Math.min(length, stepBytes)
  return padTo(content, length)
}

function padTo(content: Uint8Array, length: number): Uint8Array {
  const padded = new Uint8Array(Math.max(length, content.length))
  padded.set(content)
  return padded
}
