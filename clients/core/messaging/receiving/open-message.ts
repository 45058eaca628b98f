import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import type { AttachmentManifest } from "@signet/proto/client/v1/attachment"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { acceptManifest, layoutIn } from "../attachments/manifest.ts"
import { checkReceiptSeen } from "../checks/commit.ts"
import { personOf } from "../checks/credential.ts"
import { originalOf, parseContent } from "../content.ts"
import type { ReadConversation } from "../context.ts"
import { acceptedAt } from "../conversation/envelope.ts"
import type { Arrival, At, EnvelopeEvent } from "../conversation/event.ts"
import { groupToRead } from "../conversation/status.ts"
import type { Person } from "../events.ts"
import { bytesOfId } from "../ids.ts"
import { type Engine, type GroupState, MlsError } from "../mls.ts"
import { type OutboxItem, withHash } from "../sending/outbox-rows.ts"
import { ownCredential, type StoredConversation } from "../state/stored-conversation.ts"
import { isRead, resentContent } from "./resent.ts"

/** Opens the message at the next position; an own one from the outbox. @throws CanonicalError, MlsError, Forked */
export async function openMessage(
  reading: ReadConversation,
  stored: StoredConversation,
  outbox: readonly OutboxItem[],
  arrival: Arrival,
): Promise<EnvelopeEvent> {
  const { engine, id } = reading
  const { group, receipt } = groupToRead(stored)
  const { envelope } = arrival
  const { message } = envelope
  const conversation = bytesOfId("cnv", id)
  const at = acceptedAt(envelope)
  const own = withHash(outbox, hash("content", message))
  if (own !== undefined) {
    const content = { bytes: own.record.plaintext, from: personOf(ownCredential(group)), outboxId: own.id }
    return { on: "opened", arrival, ...ownContent(at, content), missing: undefined, ownItem: own.id, next: undefined }
  }
  const decrypted = await engine
    .decrypt(group, message)
    .catch((error: unknown) => throwOwn(engine, group, { message, outbox }, error))
  const { plaintext, aad, sender, next, finish, skipped, isLate } = decrypted
  const frame = parseEnvelopeAad(aad, { conversationId: conversation, kind: EnvelopeKind.APPLICATION })
  checkReceiptSeen(frame.lastReceiptHash, receipt)
  const from = personOf(sender.credential)
  const resent = resentContent(plaintext, from)
  const isKnown = resent !== undefined && (await isRead(reading, resent, from))
  const content = { bytes: originalOf(plaintext), from, outboxId: undefined, isLate: isLate || resent !== undefined }
  const senderCredentialHash = hash("device-credential", sender.credential)
  const opened = contentOf(at, content, (manifest) => acceptManifest(manifest, { conversation, senderCredentialHash }))
  const missing = skipped === 0 ? undefined : ({ ...at, is: "missing", from, count: skipped } as const)
  const shown = isKnown ? { entry: undefined, manifest: undefined } : { ...opened, resent: resent?.key }
  return { on: "opened", arrival, ...shown, missing, ownItem: undefined, next: { group: next, wipe: finish } }
}

/**
 * Throws the refusal of a message. An own message that comes back is unknown if this state has used its generation for
 * another one, which waits to be sent: then the store is an older copy.
 */
async function throwOwn(
  engine: Engine,
  group: GroupState,
  { message, outbox }: { readonly message: Uint8Array; readonly outbox: readonly OutboxItem[] },
  error: unknown,
): Promise<never> {
  if (!(error instanceof MlsError) || error.reason !== "OWN_REPLAY") throw error
  const generation = await engine.generationOf(group, message)
  for (const { record } of outbox) {
    if (record.epoch !== group.epoch || (await engine.generationOf(group, record.message)) !== generation) continue
    throw new MlsError("OWN_UNKNOWN", "two messages of this leaf have one generation", { cause: error })
  }
  throw error
}

interface OpenedContent {
  readonly bytes: Uint8Array
  readonly from: Person
  readonly outboxId: string | undefined
  /** Default: false. */
  readonly isLate?: boolean
}
type Shown = Pick<Extract<EnvelopeEvent, { on: "opened" }>, "entry" | "manifest">

/** The timeline entry of an own message, and its manifest. This device wrote both, so only the sizes are checked. */
export const ownContent = (at: At, content: OpenedContent): Shown =>
  contentOf(at, content, (manifest) => layoutIn(manifest) && manifest)

/** The timeline entry of a message, and the manifest of an attachment. @param accept undefined for a refused manifest */
function contentOf(
  at: At,
  { bytes, from, outboxId, isLate }: OpenedContent,
  accept: (manifest: AttachmentManifest) => AttachmentManifest | undefined,
): Shown {
  const content = parseContent(bytes)
  // An own message that was sent again has its entry.
  if (content.is === "resent" && outboxId !== undefined) return { entry: undefined, manifest: undefined }
  const late = isLate === true ? ({ isLate } as const) : {}
  if (content.is === "text") {
    const entry = { ...at, is: "message", from, plaintext: content.plaintext, outboxId, ...late } as const
    return { entry, manifest: undefined }
  }
  const manifest = content.is === "attachment" ? accept(content.manifest) : undefined
  if (manifest === undefined) return { entry: { ...at, is: "unreadable", reason: "CONTENT_REFUSED" }, manifest }
  const { fileName, mediaType, plaintextSize } = manifest
  const shown = { fileName, mediaType, size: Number(plaintextSize), outboxId, ...late }
  return { entry: { ...at, is: "attachment", from, ...shown }, manifest }
}
