import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { type AttachmentManifest, AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { type Layout, layoutOf, saltBytes } from "./layout.ts"
import { isFileName, isMediaType } from "./names.ts"

/** The conversation and sender of the message that a manifest was read from. */
interface ManifestPlace {
  /** 16 bytes. */
  readonly conversation: Uint8Array
  readonly senderCredentialHash: Uint8Array
}

/**
 * Validates a received manifest, and drops an invalid file name or media type.
 *
 * @returns Undefined for a malformed manifest, and for one of another conversation or sender: a member who forwards
 *   another member's manifest is not the sender of that file.
 */
export function acceptManifest(
  manifest: AttachmentManifest,
  { conversation, senderCredentialHash }: ManifestPlace,
): AttachmentManifest | undefined {
  const isWhole =
    manifest.version === 1 &&
    manifest.attachmentId.length === 16 &&
    manifest.locator.length === 16 &&
    manifest.key.length === 32 &&
    manifest.salt.length === saltBytes &&
    manifest.ciphertextSha256.length === 32 &&
    layoutIn(manifest) !== undefined
  const isOfHere =
    equalBytes(manifest.conversationId, conversation) && equalBytes(manifest.senderCredentialHash, senderCredentialHash)
  if (!isWhole || !isOfHere) return undefined
  return create(AttachmentManifestSchema, {
    ...manifest,
    fileName: isFileName(manifest.fileName) ? manifest.fileName : "",
    mediaType: isMediaType(manifest.mediaType) ? manifest.mediaType : "",
  })
}

/** @returns Undefined for sizes that are invalid or contradict each other. */
export function layoutIn({ plaintextSize, chunkSize, ciphertextSize }: AttachmentManifest): Layout | undefined {
  const layout = layoutOf(Number(plaintextSize), chunkSize)
  return layout !== undefined && BigInt(layout.ciphertextSize) === ciphertextSize ? layout : undefined
}
