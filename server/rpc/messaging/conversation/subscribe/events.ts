// Turns a hint into an event. The newest state is read when the reader takes the hint, not when it was published.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Refused } from "@signet/kernel/errors"
import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { ReadTail } from "@signet/kernel/messaging/listening"
import type { Envelope } from "@signet/kernel/messaging/records"
import { type SubscribeResponse, SubscribeResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import type { MessagingDeps } from "../../deps.ts"
import { inventoryShape } from "../../device/device-shape.ts"
import { directiveShape, envelopeShape } from "../conversation-shape.ts"
import type { Notice } from "./hint-queue.ts"

export type Event = NonNullable<MessageInitShape<typeof SubscribeResponseSchema>["event"]>

export interface Listener {
  readonly deviceId: DeviceId
  readonly includeEnvelopes: boolean
  /** The newest sequence number that the stream has reported, by conversation. */
  readonly sentSeqs: Map<ConversationId, bigint>
}

export type Needs = Pick<MessagingDeps, "store" | "clock"> & { readonly readTail: ReadTail }

/** The event of a notice; undefined if the notice is outdated. */
export async function eventOf(
  deps: Needs,
  listener: Listener,
  notice: Exclude<Notice, { is: "member" | "revoked" }>,
): Promise<Event | undefined> {
  switch (notice.is) {
    case "heartbeat":
      // The reader may have taken it late.
      return eventOfNotice(beatAt(deps.clock.nowMs()))
    case "envelopes":
      return envelopes(deps, listener, notice)
    case "welcome":
    case "deviceList":
    case "blockList":
      return eventOfNotice(notice)
    case "keyPackageLow": {
      const inventory = await deps.store.keyPackages.inventory(listener.deviceId, deps.clock.nowMs())
      return { case: "keyPackageLow", value: { inventory: inventoryShape(inventory) } }
    }
    case "directive": {
      const conversation = await deps.store.conversations.find(notice.conversationId)
      const directive = conversation?.directives.find(({ id }) => id === notice.directiveId)
      if (directive === undefined) return undefined
      const { conversationId } = notice
      return { case: "directiveIssued", value: { conversationId, directive: directiveShape(directive) } }
    }
  }
}

/** The event of a notice that needs no read; undefined for other notices. */
function eventOfNotice(notice: Notice): Event | undefined {
  switch (notice.is) {
    case "heartbeat":
      return { case: "heartbeat", value: { at: timestampFromMs(notice.atMs) } }
    case "envelopes": {
      const { conversationId, headSeq } = notice
      return { case: "envelopeAvailable", value: { conversationId, headSeq, envelopes: [] } }
    }
    case "welcome": {
      const { welcomeId, conversationId } = notice
      return { case: "welcomeAvailable", value: { welcomeId, conversationId } }
    }
    case "deviceList":
      return { case: "deviceListChanged", value: { userId: notice.userId, listVersion: notice.version } }
    case "blockList":
      return { case: "blockListChanged", value: { version: notice.version } }
    default:
      return undefined
  }
}

const messages = new WeakMap<Notice, SubscribeResponse>()

/**
 * The message of a notice whose event needs no read; undefined for other notices. Streams that get the same notice share
 * one message, which is encoded once.
 */
export function messageOf({ includeEnvelopes }: Listener, notice: Notice): SubscribeResponse | undefined {
  if (notice.is === "envelopes" && includeEnvelopes) return undefined
  const known = messages.get(notice)
  if (known !== undefined) return known
  const event = eventOfNotice(notice)
  if (event === undefined) return undefined
  const message = create(SubscribeResponseSchema, { event })
  messages.set(notice, message)
  return message
}

let lastBeat: Notice & { is: "heartbeat" } = { is: "heartbeat", atMs: 0 }

/** The heartbeat of this time, which all streams that beat at the same time share. */
export function beatAt(atMs: number): Notice {
  if (lastBeat.atMs !== atMs) lastBeat = { is: "heartbeat", atMs }
  return lastBeat
}

async function envelopes(deps: Needs, listener: Listener, hint: EnvelopesHint): Promise<Event | undefined> {
  const { message, headSeq } = await readEnvelopes(deps, listener, hint)
  reported(listener, { conversationId: hint.conversationId, headSeq })
  const { event } = message
  return event.case === "envelopeAvailable" ? event : undefined
}

type EnvelopesHint = Extract<Notice, { is: "envelopes" }>

/** Streams that read the same page share its message. */
const pages = new WeakMap<readonly Envelope[], { readonly message: SubscribeResponse; readonly headSeq: bigint }>()

/** The message of a hint with the envelopes that it includes, and the number that it reports. */
export async function readEnvelopes(
  deps: Needs,
  { deviceId, includeEnvelopes, sentSeqs }: Listener,
  { conversationId, headSeq: hinted }: EnvelopesHint,
): Promise<{ readonly message: SubscribeResponse; readonly headSeq: bigint }> {
  const afterSeq = sentSeqs.get(conversationId) ?? 0n
  const page = includeEnvelopes ? await deps.readTail(conversationId, deviceId, afterSeq).catch(nothingLeft) : []
  const known = pages.get(page)
  // The sender's message has the idempotency key, too.
  const isOwn = page.some(({ senderDeviceId }) => senderDeviceId === deviceId)
  if (known !== undefined && !isOwn && known.headSeq >= hinted) return known
  const included = smallEnough(page)
  const headSeq = [hinted, ...included.map(({ seq }) => seq)].reduce((a, b) => (a > b ? a : b))
  const envelopes = included.map((envelope) => envelopeShape(envelope, deviceId))
  const event = { case: "envelopeAvailable", value: { conversationId, headSeq, envelopes } } as const
  const made = { message: create(SubscribeResponseSchema, { event }), headSeq }
  if (!isOwn) pages.set(page, made)
  return made
}

/** Remembers that the stream has reported this number. */
export function reported({ sentSeqs }: Listener, of: { conversationId: ConversationId; headSeq: bigint }): void {
  if (of.headSeq > (sentSeqs.get(of.conversationId) ?? 0n)) sentSeqs.set(of.conversationId, of.headSeq)
}

/** The envelopes that are small enough to include. */
function smallEnough(page: readonly Envelope[]): readonly Envelope[] {
  let size = 0
  return page.filter(({ message }) => {
    size += message.length
    return size <= maxBytes.inlineEnvelope
  })
}

/** The client learns of a pruned log from listMessages. */
function nothingLeft(error: unknown): readonly Envelope[] {
  if (error instanceof Refused && error.reason === "LOG_PRUNED") return []
  throw error
}
