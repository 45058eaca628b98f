import { timestampMs } from "@bufbuild/protobuf/wkt"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { CanonicalError } from "@signet/canonical/errors"
import { hash } from "@signet/canonical/hash"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { acceptManifest } from "../attachments/manifest.ts"
import { checkReceiptSeen } from "../checks/commit.ts"
import { personOf } from "../checks/credential.ts"
import { verdictReason } from "../checks/verdict.ts"
import { parseContent } from "../content.ts"
import type { Context } from "../context.ts"
import { groupToRead } from "../conversation/status.ts"
import { bytesOfId } from "../ids.ts"
import { EngineRefused } from "../mls.ts"
import { removeOutboxItem, withHash } from "../sending/outbox-rows.ts"
import { ownCredential } from "../state/stored-conversation.ts"
import { keyOfSeq } from "../state/timeline.ts"
import { isUnannounced } from "../verification/new-keys.ts"
import { type Draft, type Source, setStatus } from "./draft.ts"

interface At {
  readonly seq: bigint
  readonly atMs: number
}

/** Applies the message at the next position. @throws CanonicalError, EngineRefused for a message of a caller. */
export async function applyMessage(context: Context, draft: Draft, envelope: Envelope, source: Source): Promise<void> {
  const local = groupToRead(draft.stored)
  const { seq, message } = envelope
  const at = { seq, atMs: acceptedMs(envelope) }
  if (isUnannounced(draft.stored)) draft.entries.push(...(await draft.keys.see(draft.stored, local.group, at)))
  const isOwn = envelope.senderDeviceId === context.device.id
  const own = withHash(draft.waiting, hash("content", message))
  const passed = { ...local, processedSeq: seq }
  if (own !== undefined) {
    const content = { bytes: own.record.plaintext, credential: ownCredential(local.group), outboxId: own.id }
    await storeContent(context, draft, at, content)
    draft.due.push(removeOutboxItem(own.id))
    draft.stored = { ...draft.stored, local: passed }
    return
  }
  try {
    const { plaintext, aad, sender, next, finish } = await context.engine.decrypt(local.group, message)
    const frame = parseEnvelopeAad(aad, {
      conversationId: bytesOfId("cnv", draft.conversationId),
      kind: EnvelopeKind.APPLICATION,
    })
    checkReceiptSeen(frame.lastReceiptHash, local.receipt)
    const content = { bytes: plaintext, credential: sender.credential, outboxId: undefined }
    await storeContent(context, draft, at, content)
    draft.wipe.push(finish)
    draft.stored = { ...draft.stored, local: { ...passed, group: next } }
  } catch (error) {
    const isBad = error instanceof EngineRefused || error instanceof CanonicalError
    if (!isBad || source === "caller") throw error
    const reason = verdictReason(error)
    draft.entries.push({ ...at, is: "unreadable", reason })
    draft.stored = { ...draft.stored, local: passed }
    // The engine found our own leaf in a message that this device does not know.
    if (isOwn && reason === "REPLAY") setStatus(draft, Status.ROLLED_BACK)
  }
}

/** The acceptance time, on the service's word; 0 for an invalid time. */
function acceptedMs({ acceptedAt }: Envelope): number {
  const ms = acceptedAt === undefined ? 0 : timestampMs(acceptedAt)
  return Number.isSafeInteger(ms) && ms > 0 ? ms : 0
}

/** Stores the content as a timeline entry. A manifest, with its key, is stored beside the entry and never part of it. */
async function storeContent(
  { rows }: Context,
  { conversationId, entries, ops }: Draft,
  at: At,
  { bytes, credential, outboxId }: { bytes: Uint8Array; credential: Uint8Array; outboxId: string | undefined },
): Promise<void> {
  const from = personOf(credential)
  const content = parseContent(bytes)
  if (content.is === "text") {
    entries.push({ ...at, is: "message", from, plaintext: content.plaintext, outboxId })
    return
  }
  const manifest =
    content.is === "attachment" &&
    acceptManifest(content.manifest, {
      conversation: bytesOfId("cnv", conversationId),
      senderCredentialHash: hash("device-credential", credential),
    })
  if (!manifest) {
    entries.push({ ...at, is: "unreadable", reason: "CONTENT_REFUSED" })
    return
  }
  const { fileName, mediaType, plaintextSize } = manifest
  entries.push({ ...at, is: "attachment", from, fileName, mediaType, size: Number(plaintextSize), outboxId })
  const place = { space: conversationId, table: "attachment", key: keyOfSeq(at.seq) } as const
  ops.push(await rows.put(place, AttachmentManifestSchema, manifest))
}
