import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import { maxBytes, maxCount } from "@signet/kernel/messaging/limits"
import type { FindSpans, ReadTail } from "@signet/kernel/messaging/listening"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Envelope } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../../deps.ts"
import { readLog, readSpan } from "../reads.ts"

const page = { limit: maxCount.envelopesPerPage, maxBytes: maxBytes.inlineEnvelope }

/** Reads for one stream. */
export const separateTails =
  (deps: Pick<MessagingDeps, "store">): ReadTail =>
  async (id, deviceId, afterSeq) =>
    (await readLog(deps, id, deviceId, { ...page, afterSeq }))?.envelopes ?? []

interface Asked {
  readonly deviceId: DeviceId
  readonly afterSeq: bigint
  readonly answer: PromiseWithResolvers<readonly Envelope[]>
}

/** Reads for all streams of a conversation that ask at once, which one hint has woken, with the same statements. */
export function createTails(
  { conversations }: { readonly conversations: Pick<Conversations, "messages"> },
  findSpans: FindSpans,
): ReadTail {
  const waiting = new Map<ConversationId, Asked[]>()
  const read = async (id: ConversationId, asked: readonly Asked[]) => {
    const pages = new Map<bigint, ReturnType<Conversations["messages"]>>()
    const messages = (afterSeq: bigint) => {
      const known = pages.get(afterSeq) ?? conversations.messages(id, afterSeq, page)
      pages.set(afterSeq, known)
      return known
    }
    const spans = await findSpans(id, asked)
    for (const [i, { afterSeq, answer }] of asked.entries()) {
      const span = spans[i]
      if (span === undefined) answer.resolve([])
      else answer.resolve(readSpan(span, afterSeq, messages).then(({ envelopes }) => envelopes))
    }
  }
  const readWaiting = (id: ConversationId) => {
    const asked = waiting.get(id) ?? []
    waiting.delete(id)
    read(id, asked).catch((error: unknown) => {
      for (const { answer } of asked) answer.reject(error)
    })
  }
  return (id, deviceId, afterSeq) => {
    const asked = waiting.get(id) ?? []
    const answer = Promise.withResolvers<readonly Envelope[]>()
    waiting.set(id, asked)
    if (asked.push({ deviceId, afterSeq, answer }) === 1) queueMicrotask(() => readWaiting(id))
    return answer.promise
  }
}
