import { create } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { type AttachmentManifest, AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { type AttachmentPlace, chunkCipher } from "../attachments/chunk-cipher.ts"
import { layoutOf } from "../attachments/layout.ts"
import { sealChunk } from "../attachments/source.ts"

const filled = (byte: number, length: number) => new Uint8Array(length).fill(byte)

export const somewhere: AttachmentPlace = {
  tenant: filled(1, 16),
  app: filled(2, 16),
  conversation: filled(3, 16),
  senderCredentialHash: filled(4, 32),
}

/** Bytes whose values depend on their offsets. */
export const plaintextOf = (size: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 255)

export interface Sealed {
  readonly manifest: AttachmentManifest
  readonly ciphertext: Uint8Array<ArrayBuffer>
}

/** Creates the ciphertext of an attachment, and its manifest. */
export async function sealedAttachment(
  plaintext: Uint8Array<ArrayBuffer>,
  { place = somewhere, chunkSize = 4_096, keyByte = 9, prefixByte = 7 } = {},
): Promise<Sealed> {
  const layout = layoutOf(plaintext.length, chunkSize)
  if (layout === undefined) throw new RangeError("not a size")
  const secrets = { attachmentId: filled(5, 16), key: filled(keyByte, 32), salt: filled(6, 16) }
  const cipher = await chunkCipher(secrets, place, layout, filled(prefixByte, 7))
  const ciphertext = new Uint8Array(layout.ciphertextSize)
  ciphertext.set(cipher.header)
  let at = cipher.header.length
  for (let index = 0; index < layout.chunkCount; index++) {
    const sealed = await sealChunk(cipher, layout, new Blob([plaintext]), index)
    ciphertext.set(sealed, at)
    at += sealed.length
  }
  const manifest = create(AttachmentManifestSchema, {
    ...secrets,
    version: 1,
    conversationId: place.conversation,
    chunkSize,
    plaintextSize: BigInt(plaintext.length),
    ciphertextSize: BigInt(ciphertext.length),
    ciphertextSha256: sha256(ciphertext),
    mediaType: "text/plain",
    fileName: "notes.txt",
    senderCredentialHash: place.senderCredentialHash,
    locator: filled(8, 16),
  })
  return { manifest, ciphertext }
}
