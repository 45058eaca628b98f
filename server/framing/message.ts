import { maxBytes, maxInside } from "./limits.ts"
import { finish, opaque, openReader, type Reader, refuse, uint8, uint16, uint64 } from "./reader.ts"

/** Wire formats of MLSMessage (RFC 9420 section 6). */
const wireFormats = {
  mls_public_message: 1,
  mls_private_message: 2,
  mls_welcome: 3,
  mls_group_info: 4,
  mls_key_package: 5,
}

type WireFormat = keyof typeof wireFormats

/** Content types (RFC 9420 section 6). */
export const contentTypes = { application: 1, proposal: 2, commit: 3 }

/** Reads the header of an MLSMessage: checks size, version and the expected wire format. */
export function openMessage(bytes: Uint8Array, most: number, expected: WireFormat): Reader {
  const reader = openReader(bytes, most, expected)
  const version = uint16(reader, "version")
  if (version !== 1) refuse(reader, "MLS_UNSUPPORTED", "version: only mls10 is used", 0)
  const format = uint16(reader, "wire_format")
  if (format === wireFormats[expected]) return reader
  if (format < 1 || format > 5) return refuse(reader, "MLS_MALFORMED", "wire_format", 2)
  return refuse(reader, "MLS_WRONG_WIRE_FORMAT", `wire_format: ${expected} is expected here`, 2)
}

/** The unencrypted fields of every framed message. */
export interface Frame {
  readonly groupId: Uint8Array
  readonly epoch: bigint
  /** authenticated_data: an AAD frame, which the caller parses. */
  readonly aad: Uint8Array
}

export function readAad(reader: Reader): Uint8Array {
  const start = reader.at
  const aad = opaque(reader, "authenticated_data")
  if (aad.length > maxInside.aad) refuse(reader, "MLS_TOO_LARGE", "authenticated_data", start)
  return aad
}

/**
 * An application message. Its sender is encrypted and only members can verify it; the server knows the sender from the
 * session.
 */
interface Application extends Frame {
  /** Sealed leaf index, generation and reuse guard: 28 bytes. */
  readonly encryptedSenderData: Uint8Array
  /** Sealed content, signature and padding. */
  readonly ciphertext: Uint8Array
}

/** Leaf index, generation and reuse guard, and the AES-128-GCM tag. */
const sealedSenderBytes = 12 + 16
/** Empty application data with its length, an Ed25519 signature with its length, and the tag. */
const leastCiphertextBytes = 1 + 2 + 64 + 16

/**
 * Parses an application message (PrivateMessage, RFC 9420 section 6.3).
 *
 * @throws FramingRefused MLS_WRONG_WIRE_FORMAT for any other message, including encrypted handshakes.
 */
export function parseApplication(bytes: Uint8Array, most: number = maxBytes.application): Application {
  const reader = openMessage(bytes, most, "mls_private_message")
  const groupId = opaque(reader, "group_id")
  const epoch = uint64(reader, "epoch")
  const typeAt = reader.at
  const type = uint8(reader, "content_type")
  if (type === contentTypes.proposal || type === contentTypes.commit) {
    refuse(reader, "MLS_WRONG_WIRE_FORMAT", "content_type: handshakes are public messages", typeAt)
  }
  if (type !== contentTypes.application) refuse(reader, "MLS_MALFORMED", "content_type", typeAt)
  const aad = readAad(reader)
  const encryptedSenderData = opaque(reader, "encrypted_sender_data", sealedSenderBytes)
  const ciphertextAt = reader.at
  const ciphertext = opaque(reader, "ciphertext")
  if (ciphertext.length < leastCiphertextBytes) refuse(reader, "MLS_MALFORMED", "ciphertext", ciphertextAt)
  finish(reader, "the message")
  return { groupId, epoch, aad, encryptedSenderData, ciphertext }
}
