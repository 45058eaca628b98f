// Completes an attachment: every part must exist with its size, and together they must have the announced hash.
import type { HandlerContext } from "@connectrpc/connect"
import { sha256 } from "@noble/hashes/sha2.js"
import { equalBytes } from "@signet/canonical/bytes"
import { Refused } from "@signet/kernel/errors"
import { blobKey, missingParts, partBytes, partIndexes } from "@signet/kernel/messaging/attachment"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { unresolved } from "../conversation/seen.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { conversationEvent } from "../events.ts"

type Needed = Pick<MessagingDeps, "store" | "blobs">

/**
 * @throws Refused ATTACHMENT_INCOMPLETE; INVALID_FIELD when the hash differs; RESOURCE_UNRESOLVED when it is deleted.
 */
export async function completeAttachment(
  deps: MessagingDeps,
  context: HandlerContext,
  record: AttachmentRecord,
): Promise<AttachmentRecord> {
  if (record.status === "COMPLETE") return record
  const { id: deviceId, appId, tenantId } = deviceOf(context)
  // Counted, because the call reads all parts.
  await counted(deps, context, "messaging_attachment", { device: deviceId })
  const whole = await findParts(deps, record)
  if (missingParts(whole).length > 0) throw new Refused("ATTACHMENT_INCOMPLETE")
  if (!equalBytes(await hashOf(deps, whole), record.sha256)) {
    throw new Refused("INVALID_FIELD", {
      message: "the SHA-256 of the parts differs from sha256",
      metadata: { field: "sha256" },
    })
  }
  const nowMs = deps.clock.nowMs()
  const event = conversationEvent(deps, context, { id: record.conversationId, appId, tenantId }, nowMs, {
    kind: "attachment.completed",
    target: { type: "attachment", id: record.id },
  })
  const completed = await deps.store.attachments.complete(record.id, nowMs + lifetimeMs.attachment, event)
  if (completed === undefined || completed.status === "DELETED") throw unresolved()
  return completed
}

/** A part that was uploaded by a presigned URL is only known to the blob store. Records the parts that it has. */
async function findParts({ store, blobs }: Needed, record: AttachmentRecord): Promise<AttachmentRecord> {
  const missing = missingParts(record)
  const sizes = await Promise.all(missing.map((index) => blobs.size(blobKey(record, index))))
  let known = record
  for (const [i, index] of missing.entries()) {
    if (sizes[i] !== partBytes(record, index)) continue
    const added = await store.attachments.addPart(record.id, index)
    if (added === undefined || added.status === "DELETED") throw unresolved()
    known = added
  }
  return known
}

/** Reads one part at a time, so the attachment is never in memory as a whole. */
async function hashOf({ blobs }: Needed, record: AttachmentRecord): Promise<Uint8Array> {
  const state = sha256.create()
  for (const index of partIndexes(record)) {
    const part = await blobs.get(blobKey(record, index))
    if (part === undefined || part.length !== partBytes(record, index)) throw new Refused("ATTACHMENT_INCOMPLETE")
    state.update(part)
  }
  return state.digest()
}
