import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { acceptManifest } from "../attachments/manifest.ts"
import { checkReceiptSeen } from "../checks/commit.ts"
import { personOf } from "../checks/credential.ts"
import { parseContent } from "../content.ts"
import type { Conversation } from "../context.ts"
import { acceptedAt } from "../conversation/envelope.ts"
import type { Arrival, At, EnvelopeEvent } from "../conversation/event.ts"
import { groupToRead } from "../conversation/status.ts"
import { bytesOfId } from "../ids.ts"
import { type OutboxItem, withHash } from "../sending/outbox-rows.ts"
import { ownCredential, type StoredConversation } from "../state/stored-conversation.ts"

/** Opens the message at the next position; an own one from the outbox. @throws CanonicalError, EngineRefused, Forked */
export async function openMessage(
  { engine, id }: Conversation,
  stored: StoredConversation,
  outbox: readonly OutboxItem[],
  arrival: Arrival,
): Promise<EnvelopeEvent> {
  const { group, receipt } = groupToRead(stored)
  const { envelope } = arrival
  const { message } = envelope
  const conversation = bytesOfId("cnv", id)
  const at = acceptedAt(envelope)
  const own = withHash(outbox, hash("content", message))
  if (own !== undefined) {
    const content = { bytes: own.record.plaintext, credential: ownCredential(group), outboxId: own.id }
    return { on: "opened", arrival, ...contentOf(conversation, at, content), ownItem: own.id, next: undefined }
  }
  const { plaintext, aad, sender, next, finish } = await engine.decrypt(group, message)
  const frame = parseEnvelopeAad(aad, { conversationId: conversation, kind: EnvelopeKind.APPLICATION })
  checkReceiptSeen(frame.lastReceiptHash, receipt)
  const content = { bytes: plaintext, credential: sender.credential, outboxId: undefined }
  const opened = contentOf(conversation, at, content)
  return { on: "opened", arrival, ...opened, ownItem: undefined, next: { group: next, wipe: finish } }
}

/** The timeline entry of a message, and the manifest of an attachment. */
function contentOf(
  conversation: Uint8Array,
  at: At,
  { bytes, credential, outboxId }: { bytes: Uint8Array; credential: Uint8Array; outboxId: string | undefined },
): Pick<Extract<EnvelopeEvent, { on: "opened" }>, "entry" | "manifest"> {
  const from = personOf(credential)
  const content = parseContent(bytes)
  if (content.is === "text") {
    const entry = { ...at, is: "message", from, plaintext: content.plaintext, outboxId } as const
    return { entry, manifest: undefined }
  }
  const manifest =
    content.is === "attachment"
      ? acceptManifest(content.manifest, { conversation, senderCredentialHash: hash("device-credential", credential) })
      : undefined
  if (manifest === undefined) return { entry: { ...at, is: "unreadable", reason: "CONTENT_REFUSED" }, manifest }
  const { fileName, mediaType, plaintextSize } = manifest
  const entry = { ...at, is: "attachment", from, fileName, mediaType, size: Number(plaintextSize), outboxId } as const
  return { entry, manifest }
}
