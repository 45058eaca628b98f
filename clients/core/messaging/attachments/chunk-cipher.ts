import { hkdf } from "@noble/hashes/hkdf.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { concat, utf8 } from "@signet/canonical/bytes"
import type { AttachmentManifest } from "@signet/proto/client/v1/attachment"
import { MessagingError } from "../errors.ts"
import { headerOf, type Layout, prefixBytes } from "./layout.ts"

/** The context that the chunk key is derived from: in another one, no chunk opens. */
export interface AttachmentPlace {
  /** 16 bytes; undefined outside any tenant. */
  readonly tenant: Uint8Array | undefined
  readonly app: Uint8Array
  readonly conversation: Uint8Array
  /** H("device-credential", …) of the sender's leaf. */
  readonly senderCredentialHash: Uint8Array
}

type KeyMaterial = Pick<AttachmentManifest, "attachmentId" | "key" | "salt">

/**
 * Seals and opens the chunks of one attachment. Index, last-chunk flag and header are authenticated with each chunk.
 */
export interface ChunkCipher {
  readonly header: Uint8Array<ArrayBuffer>
  seal(index: number, plaintext: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>
  /** @throws MessagingError ATTACHMENT_TAMPERED */
  open(index: number, ciphertext: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>
}

export async function chunkCipher(
  { attachmentId, key, salt }: KeyMaterial,
  { tenant, app, conversation, senderCredentialHash }: AttachmentPlace,
  { chunkSize, chunkCount }: Layout,
  prefix: Uint8Array,
): Promise<ChunkCipher> {
  // Only the tenant varies in length, so the concatenation is unambiguous.
  const info = concat(
    utf8("attachment/v1"),
    tenant ?? new Uint8Array(),
    app,
    conversation,
    attachmentId,
    senderCredentialHash,
  )
  const raw = new Uint8Array(hkdf(sha256, key, salt, info, 32))
  const fileKey = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"])
  raw.fill(0)
  const header = headerOf(chunkSize, salt, prefix)
  const additionalData = new Uint8Array(sha256(header))
  const parametersOf = (index: number) => {
    if (index < 0 || index >= chunkCount) throw new RangeError("no such chunk")
    const iv = new Uint8Array(prefixBytes + 5)
    iv.set(prefix)
    new DataView(iv.buffer).setUint32(prefixBytes, index)
    iv[prefixBytes + 4] = index === chunkCount - 1 ? 1 : 0
    return { name: "AES-GCM", iv, additionalData }
  }
  return {
    header,
    async seal(index, plaintext) {
      return new Uint8Array(await crypto.subtle.encrypt(parametersOf(index), fileKey, plaintext))
    },
    async open(index, ciphertext) {
      try {
        return new Uint8Array(await crypto.subtle.decrypt(parametersOf(index), fileKey, ciphertext))
      } catch (cause) {
        if (cause instanceof RangeError) throw cause
        throw new MessagingError("ATTACHMENT_TAMPERED", "a chunk does not match its tag", { cause })
      }
    },
  }
}
