// Sends and opens attachments, and lists interrupted uploads.

import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { contentOfAttachment } from "../content.ts"
import type { Conversation } from "../context.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId, idOf } from "../ids.ts"
import { type SentMessage, sendContent } from "../sending/outbox.ts"
import { ownCredential } from "../state/stored-conversation.ts"
import { keyOfSeq } from "../state/timeline.ts"
import { remoteCiphertext } from "./ciphertext.ts"
import { openedAttachment } from "./download.ts"
import type { OpenedAttachment } from "./reading.ts"
import type { AttachmentSource } from "./source.ts"
import { type AttachmentOptions, forgetUpload, type UploadInfo, upload } from "./upload.ts"
import { readUpload, removeUpload, uploadsIn } from "./upload-rows.ts"

/**
 * Uploads the source, and sends the message with its key. One transaction deletes the upload and stores the message.
 */
export async function sendAttachment(
  conversation: Conversation,
  source: AttachmentSource,
  options: AttachmentOptions = {},
): Promise<SentMessage> {
  const { id, manifest } = await upload(conversation, source, options)
  const content = contentOfAttachment(manifest)
  return sendContent(conversation, ({ group }) => {
    const isOurs = equalBytes(hash("device-credential", ownCredential(group)), manifest.senderCredentialHash)
    // The key is bound to the sender's credential, so recipients would reject the manifest under another one.
    if (!isOurs) throw new MessagingError("ATTACHMENT_GONE", "the device credential was renewed since the upload began")
    return { content, ops: [removeUpload(id)] }
  })
}

export async function openAttachment(conversation: Conversation, seq: bigint): Promise<OpenedAttachment> {
  const { store, rows, owner } = conversation
  const place = { space: conversation.id, table: "attachment", key: keyOfSeq(seq) } as const
  const [sealed] = (await store.read(conversation.id, [place])).values
  if (sealed === undefined) throw new MessagingError("ATTACHMENT_UNKNOWN", "no such attachment on this device")
  const manifest = await rows.read(place, AttachmentManifestSchema, sealed)
  return openedAttachment(
    manifest,
    {
      tenant: owner.tenant,
      app: owner.app,
      conversation: bytesOfId("cnv", conversation.id),
      senderCredentialHash: manifest.senderCredentialHash,
    },
    remoteCiphertext(conversation, idOf("att", manifest.locator), Number(manifest.ciphertextSize)),
  )
}

export async function listUploads(conversation: Conversation): Promise<UploadInfo[]> {
  const found = await uploadsIn(conversation, conversation.id)
  return found.map(({ id, record: { manifest, startedAtMs } }) => ({
    id,
    fileName: manifest?.fileName ?? "",
    mediaType: manifest?.mediaType ?? "",
    size: Number(manifest?.plaintextSize ?? 0n),
    startedAtMs: Number(startedAtMs),
  }))
}

/** Forgets an upload on this device. The service deletes its parts a day after the upload began. */
export async function cancelUpload(conversation: Conversation, id: string): Promise<void> {
  const found = await readUpload(conversation, conversation.id, id)
  if (found === undefined) throw new MessagingError("ATTACHMENT_UNKNOWN", "no such upload on this device")
  await forgetUpload(conversation, id)
}
