import { create } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { hash } from "@signet/canonical/hash"
import { type AttachmentManifest, AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { type UploadRecord, UploadRecordSchema } from "@signet/proto/client/v1/records"
import { type Attachment, Attachment_Status } from "@signet/proto/messaging/v1/records"
import { isFailure } from "../../errors.ts"
import type { Context, Conversation } from "../context.ts"
import { groupToSend } from "../conversation/status.ts"
import { hex } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import { answeredId, bytesOfId } from "../ids.ts"
import { ownCredential } from "../state/stored-conversation.ts"
import { type ChunkCipher, chunkCipher } from "./chunk-cipher.ts"
import { chunkBytes, isPartSize, type Layout, layoutOf, prefixBytes, saltBytes, tagBytes } from "./layout.ts"
import { layoutIn } from "./manifest.ts"
import { isFileName, isMediaType } from "./names.ts"
import { withRetries } from "./retries.ts"
import { type AttachmentSource, sealChunk, sealRange } from "./source.ts"
import { putUpload, readUpload, removeUpload } from "./upload-rows.ts"

/** Metadata of an attachment, and control of its upload. */
export interface AttachmentOptions {
  /** `type/subtype`, asserted by the sender and not verified. Default: none. */
  readonly mediaType?: string
  /** A file name without a path. Default: none. */
  readonly fileName?: string
  /** Resumes an upload: its id from `uploads`. The source must have the same bytes. */
  readonly resume?: string
  /** Called with the bytes that the service has stored, and the total. */
  readonly onProgress?: (done: number, total: number) => void
  /** Stops the upload. Parts that are uploaded are kept. */
  readonly signal?: AbortSignal
}

/** An upload that was interrupted before its message was stored. */
export interface UploadInfo {
  readonly id: string
  readonly fileName: string
  readonly mediaType: string
  /** In bytes. */
  readonly size: number
  readonly startedAtMs: number
}

interface Upload {
  readonly id: string
  readonly manifest: AttachmentManifest
  /** The AEAD tags of all chunks. A different tag in a later reading means that the source has changed. */
  readonly tags: Uint8Array
  readonly cipher: ChunkCipher
  readonly layout: Layout
}

/**
 * Uploads an attachment.
 *
 * @returns The manifest, and the id of the local upload. `forgetUpload` deletes the upload with its message.
 */
export async function upload(
  conversation: Conversation,
  source: AttachmentSource,
  options: AttachmentOptions,
): Promise<{ readonly id: string; readonly manifest: AttachmentManifest }> {
  const { resume } = options
  const started =
    resume === undefined ? await begin(conversation, source, options) : await resumeUpload(conversation, source, resume)
  try {
    const serviceId = await uploadParts(conversation, source, started, options)
    const locator = bytesOfId("att", answeredId("att", serviceId))
    return { id: started.id, manifest: create(AttachmentManifestSchema, { ...started.manifest, locator }) }
  } catch (error) {
    if (error instanceof MessagingError && error.reason === "ATTACHMENT_GONE") {
      await forgetUpload(conversation, started.id)
    }
    throw error
  }
}

/**
 * Reads the source once, and stores key, nonce prefix and tags before any request. A resumed upload then produces the
 * same ciphertext.
 */
async function begin(
  conversation: Conversation,
  source: AttachmentSource,
  { mediaType = "", fileName = "", signal }: AttachmentOptions,
): Promise<Upload> {
  if (!isFileName(fileName)) throw new MessagingError("ATTACHMENT_INVALID", "invalid file name")
  if (!isMediaType(mediaType)) throw new MessagingError("ATTACHMENT_INVALID", "invalid media type")
  const layout = layoutOf(source.size, chunkBytes)
  if (layout === undefined)
    throw new MessagingError("ATTACHMENT_TOO_LARGE", "the file exceeds the service's size limit")
  const { group } = groupToSend(await conversation.stored())
  const { random, clock } = conversation
  const manifest = create(AttachmentManifestSchema, {
    version: 1,
    // Chosen by this client. The service's `att_…` id is the `locator`.
    attachmentId: random.bytes(16),
    conversationId: bytesOfId("cnv", conversation.id),
    key: random.bytes(32),
    salt: random.bytes(saltBytes),
    chunkSize: layout.chunkSize,
    plaintextSize: BigInt(layout.plaintextSize),
    ciphertextSize: BigInt(layout.ciphertextSize),
    mediaType,
    fileName,
    senderCredentialHash: hash("device-credential", ownCredential(group)),
  })
  const noncePrefix = random.bytes(prefixBytes)
  const cipher = await cipherOf(conversation, manifest, layout, noncePrefix)
  const tags = new Uint8Array(layout.chunkCount * tagBytes)
  const digest = sha256.create().update(cipher.header)
  for (let index = 0; index < layout.chunkCount; index++) {
    signal?.throwIfAborted()
    const sealed = await sealChunk(cipher, layout, source, index)
    digest.update(sealed)
    tags.set(sealed.subarray(sealed.length - tagBytes), index * tagBytes)
  }
  manifest.ciphertextSha256 = digest.digest()
  const id = hex(manifest.attachmentId)
  const record = create(UploadRecordSchema, { manifest, tags, noncePrefix, startedAtMs: BigInt(clock.nowMs()) })
  const op = await putUpload(conversation, conversation.id, id, record)
  await conversation.change(async () => ({ ops: [op], result: undefined }))
  return { id, manifest, tags, cipher, layout }
}

async function resumeUpload(conversation: Conversation, source: AttachmentSource, id: string): Promise<Upload> {
  const record = await readUpload(conversation, conversation.id, id)
  const manifest = record?.manifest
  if (record === undefined || manifest === undefined) {
    throw new MessagingError("ATTACHMENT_UNKNOWN", "no such upload on this device")
  }
  const layout = layoutIn(manifest)
  if (layout === undefined) throw new MessagingError("STATE_TAMPERED", "the stored sizes are inconsistent")
  if (layout.plaintextSize !== source.size) {
    throw new MessagingError("ATTACHMENT_SOURCE_CHANGED", "the file's size has changed since the upload began")
  }
  return {
    id,
    manifest,
    layout,
    tags: record.tags,
    cipher: await cipherOf(conversation, manifest, layout, record.noncePrefix),
  }
}

const cipherOf = (
  { owner }: Context,
  manifest: AttachmentManifest,
  layout: Layout,
  prefix: UploadRecord["noncePrefix"],
) =>
  chunkCipher(
    manifest,
    {
      tenant: owner.tenant,
      app: owner.app,
      conversation: manifest.conversationId,
      senderCredentialHash: manifest.senderCredentialHash,
    },
    layout,
    prefix,
  )

/** Uploads the parts that the service does not have. @returns The attachment's id at the service. */
async function uploadParts(
  conversation: Conversation,
  source: AttachmentSource,
  { manifest, tags, cipher, layout }: Upload,
  { onProgress, signal }: AttachmentOptions,
): Promise<string> {
  const { attachments } = conversation.calls
  const total = layout.ciphertextSize
  const call = signal === undefined ? {} : { signal }
  const created = await withRetries(conversation, signal, () =>
    attachments.createAttachment(
      {
        conversationId: conversation.id,
        size: BigInt(total),
        sha256: manifest.ciphertextSha256,
        // Equal for every attempt, so that the service creates one attachment.
        idempotencyKey: manifest.attachmentId,
      },
      call,
    ),
  )
  const { id: attachmentId, partSize, partCount, status, missingParts } = checkCreated(created.attachment, layout)
  let left = status === Attachment_Status.COMPLETE ? [] : [...missingParts]
  for (let isRetry = false; status !== Attachment_Status.COMPLETE; isRetry = true) {
    let done = total - left.reduce((sum, index) => sum + Math.min(partSize, total - index * partSize), 0)
    onProgress?.(done, total)
    for (const index of left) {
      const range = { from: index * partSize, to: Math.min((index + 1) * partSize, total) }
      const data = await sealRange(cipher, layout, source, tags, range)
      await withRetries(conversation, signal, () => attachments.uploadPart({ attachmentId, index, data }, call))
      done += data.length
      onProgress?.(done, total)
    }
    try {
      await withRetries(conversation, signal, () => attachments.completeAttachment({ attachmentId }, call))
      break
    } catch (error) {
      // Bytes were altered in transit: upload all parts once more.
      if (isRetry || !isFailure(error, "INVALID_FIELD", "ATTACHMENT_INCOMPLETE")) throw error
      left = Array.from({ length: partCount }, (_, index) => index)
    }
  }
  onProgress?.(total, total)
  return attachmentId
}

function checkCreated(attachment: Attachment | undefined, { ciphertextSize }: Layout): Attachment {
  const { size, partSize = 0, partCount = 0, missingParts = [] } = attachment ?? {}
  const isSizeConsistent =
    size === BigInt(ciphertextSize) && isPartSize(partSize) && partCount === Math.ceil(ciphertextSize / partSize)
  const isUnique = new Set(missingParts).size === missingParts.length
  const isInRange = missingParts.every((index) => index < partCount)
  if (attachment === undefined || !isSizeConsistent || !isUnique || !isInRange) {
    throw new MessagingError("ANSWER_REFUSED", "the service answered with other parts of the upload")
  }
  return attachment
}

export async function forgetUpload(conversation: Conversation, id: string): Promise<void> {
  await conversation.change(async () => ({ ops: [removeUpload(id)], result: undefined }))
}
