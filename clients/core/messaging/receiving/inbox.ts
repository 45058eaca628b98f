import { create, toBinary } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { equalBytes } from "@signet/canonical/bytes"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { CanonicalError } from "@signet/canonical/errors"
import { hash } from "@signet/canonical/hash"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import {
  ConversationRecord_QuarantineSchema,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { acceptManifest } from "../attachments/manifest.ts"
import { checkReceiptSeen } from "../checks/commit.ts"
import { personOf } from "../checks/credential.ts"
import {
  Forked,
  faultOf,
  isVerdict,
  mayBeOwnClock,
  mayBeStaleKeys,
  type Verdict,
  verdictReason,
} from "../checks/verdict.ts"
import { parseContent } from "../content.ts"
import type { Context } from "../context.ts"
import { isAway, isReading } from "../conversation/status.ts"
import { MessagingError } from "../errors.ts"
import type { MessengerEvent, TimelineEntry } from "../events.ts"
import { bytesOfId } from "../ids.ts"
import { EngineRefused } from "../mls.ts"
import { removeIntent } from "../sending/intent-rows.ts"
import { removeWaiting, type Waiting, waitingHere, withHash } from "../sending/outbox-rows.ts"
import type { Change } from "../state/door.ts"
import type { DueChange } from "../state/due.ts"
import { type Held, ownCredential, type Seat } from "../state/held.ts"
import { keyOfSeq, timelineOp } from "../state/timeline.ts"
import type { Op } from "../store/store.ts"
import { isUnannounced, type KeyWatch, watchKeys } from "../verification/new-keys.ts"
import { deviceKeysIn, noticeKeys } from "../verification/noticing.ts"
import { followCommit } from "./follow.ts"

/** What became of a page of envelopes. */
export interface Taken {
  readonly entries: readonly TimelineEntry[]
  /** Undefined for a device that is not in. */
  readonly processedSeq: bigint | undefined
  readonly epoch: bigint
  /** The first place that is missing before what was given. */
  readonly hasGap: boolean
}

/** Envelopes of one transaction. */
export const batchSize = 50

interface Batch {
  held: Held
  readonly ops: Op[]
  readonly due: DueChange[]
  readonly entries: TimelineEntry[]
  readonly wipe: (() => void)[]
  /** Told before the entries. */
  readonly warnings: MessengerEvent[]
  readonly keys: KeyWatch
  waiting: readonly Waiting[]
}

/** Where envelopes come from: the service itself, or anybody who has one. */
export type Source = "log" | "anybody"

/**
 * Takes envelopes in, strictly by their place: one that was taken before changes nothing, and nothing is taken beyond a
 * gap.
 *
 * What the log has and does not pass its checks quarantines the conversation, with the evidence, if it is a commit, and
 * is passed over as unreadable if it is a message. What anybody brings and does not pass changes nothing.
 *
 * @param envelopes ascending.
 * @throws MessagingError ENVELOPE_INVALID for what anybody brought, CLOCK_WRONG
 */
export async function takeIn(
  context: Context,
  conversationId: string,
  envelopes: readonly Envelope[],
  source: Source = "log",
  isRetry = false,
): Promise<Taken> {
  const door = context.door(conversationId)
  let stale = false
  const taken = await door.change((held) => take(held))
  if (!stale || isRetry) return taken
  await context.issuer.refresh()
  return takeIn(context, conversationId, envelopes, source, true)

  async function take(held: Held): Promise<Change<Taken>> {
    stale = false
    const batch: Batch = {
      held,
      ops: [],
      due: [],
      entries: [],
      wipe: [],
      warnings: [],
      keys: watchKeys(context, conversationId),
      waiting: await waitingHere(context, conversationId, held),
    }
    let hasGap = false
    for (const envelope of envelopes) {
      const { seat, record } = batch.held
      if (seat === undefined || !isReading(record)) break
      if (envelope.seq <= seat.processedSeq) continue
      const isOwnFirst = isOwnFirstCommit(batch.held, envelope)
      // Of a group that a reset replaces, the device that began the new one reads nothing more.
      if (record?.status === Status.CREATING && envelope.kind !== Envelope_Kind.COMMIT) continue
      hasGap = !isOwnFirst && envelope.seq > seat.processedSeq + 1n
      if (hasGap) break
      try {
        await step(context, conversationId, batch, seat, envelope, source)
      } catch (error) {
        if (!isVerdict(error)) throw error
        stale = mayBeStaleKeys(error) && !isRetry
        if (stale) break
        if (mayBeOwnClock(error)) throw new MessagingError("CLOCK_WRONG", "the clock is behind", { cause: error })
        // What was good before it counts.
        if (source === "anybody" && batch.held !== held) break
        if (source === "anybody")
          throw new MessagingError("ENVELOPE_INVALID", "does not pass its checks", { cause: error })
        quarantine(batch, envelope, error)
      }
    }
    const { entries, wipe, warnings } = batch
    const { record, ops: keyOps } = await batch.keys.written(batch.held.record)
    const next = record === batch.held.record ? batch.held : { ...batch.held, record }
    batch.ops.push(
      ...keyOps,
      ...(await Promise.all(entries.map((entry) => timelineOp(context.rows, conversationId, entry)))),
    )
    const { seat } = next
    return {
      next,
      ops: batch.ops,
      due: batch.due,
      wipe,
      emit: [...warnings, ...entries.map((entry) => ({ is: "entry", conversationId, entry }) as const)],
      result: { entries, processedSeq: seat?.processedSeq, epoch: seat?.group.epoch ?? 0n, hasGap },
    }
  }
}

/** The commit that began the own group, wherever the log has it: nothing before it is of that group. */
const isOwnFirstCommit = ({ record, staged }: Held, envelope: Envelope): boolean =>
  record?.status === Status.CREATING &&
  staged !== undefined &&
  envelope.kind === Envelope_Kind.COMMIT &&
  equalBytes(hash("commit", envelope.message), staged.commitHash)

async function step(
  context: Context,
  conversationId: string,
  batch: Batch,
  seat: Seat,
  envelope: Envelope,
  source: Source,
) {
  const isCommit = envelope.kind === Envelope_Kind.COMMIT
  if (!isCommit) return readMessage(context, conversationId, batch, seat, envelope, source)
  const isOwn = envelope.senderDeviceId === context.device.id
  const { staged } = batch.held
  const isStaged = staged !== undefined && equalBytes(hash("commit", envelope.message), staged.commitHash)
  const isCreating = batch.held.record?.status === Status.CREATING
  if (source === "anybody" && (isOwn || isCreating) && !isStaged)
    throw new MessagingError("ENVELOPE_INVALID", "not in the log")
  // Of two first commits that were made at once, the other one was taken.
  if (isCreating && !isStaged) return leave(batch, Status.WAITING)
  const followed = await followCommit(context, conversationId, batch.held, seat, envelope).catch((error: unknown) => {
    // The envelope's name is the service's word: it counts where the papers are good and the commit names our own leaf.
    if (isOwn && error instanceof EngineRefused && error.reason === "MLS_BAD_SENDER") return undefined
    throw error
  })
  // Made by this device, and not known to it: what is stored is older than what was used.
  if (followed === undefined) return leave(batch, Status.ROLLED_BACK)
  const before = batch.held
  batch.held = followed.held
  batch.wipe.push(followed.wipe)
  const after = followed.held.seat
  if (after !== undefined) {
    const at = { seq: envelope.seq, atMs: after.receipt === "first" ? 0 : Number(after.receipt.acceptedAtMs) }
    batch.entries.push(...(await batch.keys.see(before, after.group, at)))
  }
  batch.entries.push(...followed.entries)
  // What it was for is done, in the same transaction.
  if (followed.done !== undefined) batch.due.push(removeIntent(followed.done))
  if (after === undefined) return
  const { ops, events } = await noticeKeys(context, deviceKeysIn(context, after.group))
  batch.ops.push(...ops)
  batch.warnings.push(...events)
}

async function readMessage(
  context: Context,
  conversationId: string,
  batch: Batch,
  seat: Seat,
  envelope: Envelope,
  source: Source,
) {
  const { seq, message } = envelope
  const at = { seq, atMs: toldMs(envelope) }
  if (isUnannounced(batch.held)) batch.entries.push(...(await batch.keys.see(batch.held, seat.group, at)))
  const isOwn = envelope.senderDeviceId === context.device.id
  const own = withHash(batch.waiting, hash("content", message))
  const passed = { ...seat, processedSeq: seq }
  if (own !== undefined) {
    const content = { bytes: own.record.plaintext, credential: ownCredential(seat.group), outboxId: own.id }
    await keepContent(context, conversationId, batch, at, content)
    batch.due.push(removeWaiting(own.id))
    batch.held = { ...batch.held, seat: passed }
    return
  }
  try {
    const { plaintext, aad, sender, next, finish } = await context.engine.decrypt(seat.group, message)
    const frame = parseEnvelopeAad(aad, {
      conversationId: bytesOfId("cnv", conversationId),
      kind: EnvelopeKind.APPLICATION,
    })
    checkReceiptSeen(frame.lastReceiptHash, seat.receipt)
    const content = { bytes: plaintext, credential: sender.credential, outboxId: undefined }
    await keepContent(context, conversationId, batch, at, content)
    batch.wipe.push(finish)
    batch.held = { ...batch.held, seat: { ...passed, group: next } }
  } catch (error) {
    const isBad = error instanceof EngineRefused || error instanceof CanonicalError
    if (!isBad || source === "anybody") throw error
    const reason = verdictReason(error)
    batch.entries.push({ ...at, is: "unreadable", reason })
    batch.held = { ...batch.held, seat: passed }
    // The engine found this device's leaf inside, in a message that it does not know.
    if (isOwn && reason === "REPLAY") become(batch, Status.ROLLED_BACK)
  }
}

/** When it was taken, on the service's word: 0 for what is no time. */
function toldMs({ acceptedAt }: Envelope): number {
  const ms = acceptedAt === undefined ? 0 : timestampMs(acceptedAt)
  return Number.isSafeInteger(ms) && ms > 0 ? ms : 0
}

/** What a message holds, as it is shown. A manifest, with its key, is stored beside the entry and never part of it. */
async function keepContent(
  { rows }: Context,
  conversationId: string,
  batch: Batch,
  at: { readonly seq: bigint; readonly atMs: number },
  { bytes, credential, outboxId }: { bytes: Uint8Array; credential: Uint8Array; outboxId: string | undefined },
): Promise<void> {
  const from = personOf(credential)
  const content = parseContent(bytes)
  if (content.is === "text") {
    batch.entries.push({ ...at, is: "message", from, plaintext: content.plaintext, outboxId })
    return
  }
  const manifest =
    content.is === "attachment" &&
    acceptManifest(content.manifest, {
      conversation: bytesOfId("cnv", conversationId),
      senderCredentialHash: hash("device-credential", credential),
    })
  if (!manifest) {
    batch.entries.push({ ...at, is: "unreadable", reason: "CONTENT_REFUSED" })
    return
  }
  const { fileName, mediaType, plaintextSize } = manifest
  batch.entries.push({ ...at, is: "attachment", from, fileName, mediaType, size: Number(plaintextSize), outboxId })
  const place = { space: conversationId, table: "attachment", key: keyOfSeq(at.seq) } as const
  batch.ops.push(await rows.put(place, AttachmentManifestSchema, manifest))
}

function become(batch: Batch, status: Status): void {
  const { record } = batch.held
  if (record === undefined || isAway(record)) return
  batch.held = { ...batch.held, record: create(ConversationRecordSchema, { ...record, status }) }
}

/** Out of the log: what follows leads from another state than the one that is here. */
function leave(batch: Batch, status: Status): void {
  become(batch, status)
  batch.held = { ...batch.held, seat: undefined, staged: undefined }
}

function quarantine(batch: Batch, envelope: Envelope, verdict: Verdict): void {
  const { record } = batch.held
  if (record === undefined) return
  const evidence = create(ConversationRecord_QuarantineSchema, {
    reason: verdictReason(verdict),
    seq: envelope.seq,
    epoch: envelope.epoch,
    envelope: toBinary(EnvelopeSchema, envelope),
    stateTag: verdict instanceof Forked ? verdict.stateTag : new Uint8Array(),
    fault: faultOf(verdict),
  })
  const next = { ...record, status: Status.QUARANTINED, quarantine: evidence }
  batch.held = { ...batch.held, record: create(ConversationRecordSchema, next) }
}
