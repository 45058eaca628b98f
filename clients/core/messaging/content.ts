// The plaintext of an application message: the app's bytes, or the manifest of an attachment.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { concat, equalBytes } from "@signet/canonical/bytes"
import { type AttachmentManifest, AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"

export type Content =
  | { readonly is: "text"; readonly plaintext: Uint8Array }
  | { readonly is: "attachment"; readonly manifest: AttachmentManifest }
  /** Marked content of a later version. */
  | { readonly is: "unknown" }

/** Prefix of content that is not the app's bytes alone. The next byte is its kind. */
const mark = new TextEncoder().encode("\0signet-content\0")
const kinds = { text: 0, attachment: 1 } as const

const isMarked = (bytes: Uint8Array): boolean => equalBytes(bytes.subarray(0, mark.length), mark)

/** The app's bytes. Bytes that begin with the mark are escaped, so that an app cannot forge a manifest. */
export const contentOfText = (plaintext: Uint8Array): Uint8Array =>
  isMarked(plaintext) ? concat(mark, Uint8Array.of(kinds.text), plaintext) : plaintext

export const contentOfAttachment = (manifest: AttachmentManifest): Uint8Array =>
  concat(mark, Uint8Array.of(kinds.attachment), toBinary(AttachmentManifestSchema, manifest))

export function parseContent(bytes: Uint8Array): Content {
  if (!isMarked(bytes)) return { is: "text", plaintext: bytes }
  const rest = bytes.slice(mark.length + 1)
  switch (bytes[mark.length]) {
    case kinds.text:
      return { is: "text", plaintext: rest }
    case kinds.attachment:
      return manifestIn(rest)
    default:
      return { is: "unknown" }
  }
}

function manifestIn(bytes: Uint8Array): Content {
  try {
    const { $unknown: _, ...manifest } = fromBinary(AttachmentManifestSchema, bytes)
    return { is: "attachment", manifest: create(AttachmentManifestSchema, manifest) }
  } catch {
    return { is: "unknown" }
  }
}
