// The newest envelopes of the log, byte for byte as they were applied. If the service loses them, it gets them back from
// the members. They are ciphertext, which the stored state can no longer decrypt.
import { create } from "@bufbuild/protobuf"
import { type ConversationRecord, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Envelope, Envelope_BeginningSchema, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { lostSeqGap } from "../conversation/order.ts"
import type { SealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore, Op, Space } from "../store/store.ts"
import { type StoredConversation, withRecord } from "./stored-conversation.ts"
import { keyOfSeq } from "./timeline.ts"

/** The bounds of one conversation. */
export const maxTail = { count: 1_000, bytes: 4 * 1_024 * 1_024 } as const
/** The bound of all conversations of a device. */
const maxTailsBytes = 64 * 1_024 * 1_024
/** After a bound is exceeded, rows are removed down to this part of it, so that most transactions remove none. */
const keptPart = 0.75
const removedAtOnce = 300

interface Needs {
  readonly rows: SealedRows
  readonly store: MessagingStore
}

/** The first commit of a group and what it leads to: the service does not derive that from the commit. */
export const withBeginning = (
  envelope: Envelope,
  beginning: { readonly groupInfo: Uint8Array; readonly tree: Uint8Array },
): Envelope => ({ ...envelope, beginning: create(Envelope_BeginningSchema, beginning) })

/** Adds applied envelopes to the tail, and removes the oldest ones beyond its bounds. */
export async function extendTail(
  { rows, store }: Needs,
  space: Space,
  state: StoredConversation,
  applied: readonly Envelope[],
): Promise<{ readonly state: StoredConversation; readonly ops: readonly Op[] }> {
  const { record } = state
  if (record === undefined || applied.length === 0) return { state, ops: [] }
  const ops: Op[] = []
  let { tailCount: count, tailBytes } = record
  let bytes = Number(tailBytes)
  for (const envelope of applied) {
    const op = await rows.put({ space, table: "tail", key: keyOfSeq(envelope.seq) }, EnvelopeSchema, envelope)
    ops.push(op)
    count += 1
    bytes += sizeOf(op)
  }
  if (count > maxTail.count || bytes > maxTail.bytes) {
    for (const { key, value } of await store.list(space, "tail", { limit: removedAtOnce })) {
      if (count <= maxTail.count * keptPart && bytes <= maxTail.bytes * keptPart) break
      ops.push({ op: "remove", table: "tail", key })
      count -= 1
      bytes -= value.length
    }
  }
  // The service asserts the time.
  const tailAt = applied.reduce(
    (newest, { acceptedAt: { seconds = 0n } = {} }) => (seconds > newest ? seconds : newest),
    record.tailAt,
  )
  const tail = { tailCount: Math.max(count, 0), tailBytes: BigInt(Math.max(bytes, 0)), tailAt }
  return { state: withRecord(state, tail), ops }
}

/** The fields of a record that describe its tail. */
export const tailOf = (record: Tail | undefined): Tail => ({
  tailCount: record?.tailCount ?? 0,
  tailBytes: record?.tailBytes ?? 0n,
  tailAt: record?.tailAt ?? 0n,
})
type Tail = Pick<ConversationRecord, "tailCount" | "tailBytes" | "tailAt">

/**
 * The tails to remove: of conversations that this device has left, and beyond the total bound those of the
 * conversations with the oldest envelopes.
 */
export function tailsToRemove<Of extends Tail & Pick<ConversationRecord, "status">>(
  all: readonly Of[],
  maxBytes = maxTailsBytes,
): readonly Of[] {
  const [left, held] = [all.filter(isLeft), all.filter((one) => !isLeft(one))]
  let bytes = held.reduce((sum, { tailBytes }) => sum + Number(tailBytes), 0)
  const removed = [...left]
  for (const one of held.toSorted((a, b) => Number(a.tailAt - b.tailAt))) {
    if (bytes <= maxBytes) break
    bytes -= Number(one.tailBytes)
    removed.push(one)
  }
  return removed
}

const isLeft = ({ status }: Pick<ConversationRecord, "status">): boolean => status === Status.REMOVED

/** The writes that remove a part of the tail, or all of it. */
export async function shrinkTail(
  { store }: Pick<Needs, "store">,
  space: Space,
  state: StoredConversation,
): Promise<{ readonly state: StoredConversation; readonly ops: readonly Op[]; readonly isEmpty: boolean }> {
  const found = await store.list(space, "tail", { limit: removedAtOnce })
  const ops = found.map(({ key }) => ({ op: "remove", table: "tail", key }) as const)
  const isEmpty = found.length < removedAtOnce
  return { state: isEmpty ? withRecord(state, tailOf(undefined)) : state, ops, isEmpty }
}

/** The stored envelopes of one device, in order. */
export async function envelopesOf({ rows, store }: Needs, space: Space, deviceId: string): Promise<Envelope[]> {
  const found: Envelope[] = []
  for (const { key, value } of await store.list(space, "tail")) {
    const envelope = await rows.read({ space, table: "tail", key }, EnvelopeSchema, value)
    if (envelope.senderDeviceId === deviceId) found.push(envelope)
  }
  return found
}

const sizeOf = (op: Op): number => (op.op === "remove" ? 0 : op.value.length)

/** The stored envelopes after a sequence number, in order; ends at a gap, except one that the log itself has. */
export async function readTail(
  { rows, store }: Needs,
  space: Space,
  { afterSeq, limit, maxBytes }: { readonly afterSeq: bigint; readonly limit: number; readonly maxBytes: number },
): Promise<Envelope[]> {
  const envelopes: Envelope[] = []
  let bytes = 0
  for (const { key, value } of await store.list(space, "tail", { after: keyOfSeq(afterSeq), limit })) {
    bytes += value.length
    if (envelopes.length > 0 && bytes > maxBytes) break
    const envelope = await rows.read({ space, table: "tail", key }, EnvelopeSchema, value)
    const before = envelopes.at(-1)?.seq ?? afterSeq
    if (envelope.seq !== before + 1n && envelope.seq !== before + lostSeqGap) break
    envelopes.push(envelope)
  }
  return envelopes
}
