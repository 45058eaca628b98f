// Turns a hint into an event. The newest state is read when the reader takes the hint, not when it was published.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Refused } from "@signet/kernel/errors"
import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import { maxBytes, maxCount } from "@signet/kernel/messaging/limits"
import type { Envelope } from "@signet/kernel/messaging/records"
import { type SubscribeResponse, SubscribeResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import type { MessagingDeps } from "../../deps.ts"
import { inventoryShape } from "../../device/device-shape.ts"
import { directiveShape, envelopeShape } from "../conversation-shape.ts"
import { readLog } from "../reads.ts"
import type { Notice } from "./hint-queue.ts"

export type Event = NonNullable<MessageInitShape<typeof SubscribeResponseSchema>["event"]>

export interface Listener {
  readonly deviceId: DeviceId
  readonly includeEnvelopes: boolean
  /** The newest sequence number that the stream has reported, by conversation. */
  readonly sentSeqs: Map<ConversationId, bigint>
}

type Needs = Pick<MessagingDeps, "store" | "clock">

/** The event of a notice; undefined if the notice is outdated. */
export async function eventOf(
  deps: Needs,
  listener: Listener,
  notice: Exclude<Notice, { is: "member" | "revoked" }>,
): Promise<Event | undefined> {
  switch (notice.is) {
    case "heartbeat":
      return heartbeat(deps.clock.nowMs())
    case "envelopes":
      return envelopes(deps, listener, notice)
    case "welcome": {
      const { welcomeId, conversationId } = notice
      return { case: "welcomeAvailable", value: { welcomeId, conversationId } }
    }
    case "keyPackageLow": {
      const inventory = await deps.store.keyPackages.inventory(listener.deviceId, deps.clock.nowMs())
      return { case: "keyPackageLow", value: { inventory: inventoryShape(inventory) } }
    }
    case "deviceList":
      return { case: "deviceListChanged", value: { userId: notice.userId, listVersion: notice.version } }
    case "blockList":
      return { case: "blockListChanged", value: { version: notice.version } }
    case "directive": {
      const conversation = await deps.store.conversations.find(notice.conversationId)
      const directive = conversation?.directives.find(({ id }) => id === notice.directiveId)
      if (directive === undefined) return undefined
      const { conversationId } = notice
      return { case: "directiveIssued", value: { conversationId, directive: directiveShape(directive) } }
    }
  }
}

const heartbeat = (nowMs: number): Event => ({ case: "heartbeat", value: { at: timestampFromMs(nowMs) } })

let lastHeartbeat: { readonly atMs: number; readonly message: SubscribeResponse } | undefined

/** The heartbeat of this time. Streams that beat at the same time share one message, which is encoded once. */
export function sharedHeartbeat(nowMs: number): SubscribeResponse {
  if (lastHeartbeat?.atMs !== nowMs) {
    lastHeartbeat = { atMs: nowMs, message: create(SubscribeResponseSchema, { event: heartbeat(nowMs) }) }
  }
  return lastHeartbeat.message
}

async function envelopes(
  deps: Needs,
  { deviceId, includeEnvelopes, sentSeqs }: Listener,
  { conversationId, headSeq }: Extract<Notice, { is: "envelopes" }>,
): Promise<Event> {
  const afterSeq = sentSeqs.get(conversationId) ?? 0n
  const found = includeEnvelopes ? await inline(deps, conversationId, deviceId, afterSeq) : []
  const newest = [headSeq, ...found.map(({ seq }) => seq)].reduce((a, b) => (a > b ? a : b))
  if (newest > afterSeq) sentSeqs.set(conversationId, newest)
  return {
    case: "envelopeAvailable",
    value: {
      conversationId,
      headSeq: newest,
      envelopes: found.map((envelope) => envelopeShape(envelope, deviceId)),
    },
  }
}

/** The envelopes that are small enough to include. */
async function inline(
  deps: Needs,
  id: ConversationId,
  deviceId: DeviceId,
  afterSeq: bigint,
): Promise<readonly Envelope[]> {
  const asked = { afterSeq, limit: maxCount.envelopesPerPage, maxBytes: maxBytes.inlineEnvelope }
  const log = await readLog(deps, id, deviceId, asked).catch(nothingLeft)
  let size = 0
  return (log?.envelopes ?? []).filter(({ message }) => {
    size += message.length
    return size <= maxBytes.inlineEnvelope
  })
}

/** The client learns of a pruned log from listMessages. */
function nothingLeft(error: unknown): undefined {
  if (error instanceof Refused && error.reason === "LOG_PRUNED") return undefined
  throw error
}
