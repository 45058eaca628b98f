import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { type AttachmentManifest, AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { type Layout, layoutOf, saltBytes } from "./layout.ts"
import { isFileName, isMediaType } from "./names.ts"

/** Where a manifest was read: what it says of itself must be that. */
export interface ManifestPlace {
  /** 16 bytes. */
  readonly conversation: Uint8Array
  readonly senderCredentialHash: Uint8Array
}

/**
 * A manifest as it came in a message, or undefined where it is none of that conversation and that sender's: somebody who
 * passes another one's on has not sent that file. Names that are none are dropped.
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

/** Undefined where the sizes are not taken, or do not fit each other. */
export function layoutIn({ plaintextSize, chunkSize, ciphertextSize }: AttachmentManifest): Layout | undefined {
  const layout = layoutOf(Number(plaintextSize), chunkSize)
  return layout !== undefined && BigInt(layout.ciphertextSize) === ciphertextSize ? layout : undefined
}
