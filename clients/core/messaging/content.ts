// The plaintext of an application message: the app's bytes, or the manifest of an attachment.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { concat, equalBytes } from "@signet/canonical/bytes"
import { type AttachmentManifest, AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"

export type Content =
  | { readonly is: "text"; readonly plaintext: Uint8Array }
  | { readonly is: "attachment"; readonly manifest: AttachmentManifest }
  /** Content that the service has lost, sent again. `originalSeq`: the sequence number that it had. */
  | { readonly is: "resent"; readonly originalSeq: bigint; readonly content: Uint8Array }
  /** Marked content of a later version. */
  | { readonly is: "unknown" }

/** Prefix of content that is not the app's bytes alone. The next byte is its kind. */
const mark = new TextEncoder().encode("\0signet-content\0")
const kinds = { text: 0, attachment: 1, resent: 2 } as const

const isMarked = (bytes: Uint8Array): boolean => equalBytes(bytes.subarray(0, mark.length), mark)

/** The app's bytes. Bytes that begin with the mark are escaped, so that an app cannot forge a manifest. */
export const contentOfText = (plaintext: Uint8Array): Uint8Array =>
  isMarked(plaintext) ? concat(mark, Uint8Array.of(kinds.text), plaintext) : plaintext

export const contentOfAttachment = (manifest: AttachmentManifest): Uint8Array =>
  concat(mark, Uint8Array.of(kinds.attachment), toBinary(AttachmentManifestSchema, manifest))

export function contentOfResent(originalSeq: bigint, content: Uint8Array): Uint8Array {
  const seq = new Uint8Array(seqBytes)
  new DataView(seq.buffer).setBigUint64(0, originalSeq)
  return concat(mark, Uint8Array.of(kinds.resent), seq, content)
}
const seqBytes = 8

/** The content as it was sent first. */
export function originalOf(bytes: Uint8Array): Uint8Array {
  const content = parseContent(bytes)
  return content.is === "resent" ? content.content : bytes
}

export function parseContent(bytes: Uint8Array): Content {
  if (!isMarked(bytes)) return { is: "text", plaintext: bytes }
  const rest = bytes.slice(mark.length + 1)
  switch (bytes[mark.length]) {
    case kinds.text:
      return { is: "text", plaintext: rest }
    case kinds.attachment:
      return manifestIn(rest)
    case kinds.resent:
      return resentIn(rest)
    default:
      return { is: "unknown" }
  }
}

function resentIn(bytes: Uint8Array): Content {
  if (bytes.length < seqBytes) return { is: "unknown" }
  const originalSeq = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0)
  return { is: "resent", originalSeq, content: bytes.slice(seqBytes) }
}

function manifestIn(bytes: Uint8Array): Content {
  try {
    const { $unknown: _, ...manifest } = fromBinary(AttachmentManifestSchema, bytes)
    return { is: "attachment", manifest: create(AttachmentManifestSchema, manifest) }
  } catch {
    return { is: "unknown" }
  }
}
