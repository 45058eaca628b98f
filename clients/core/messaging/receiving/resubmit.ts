import { Code } from "@connectrpc/connect"
import { equalBytes } from "@signet/canonical/bytes"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../errors.ts"
import type { Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { readTail } from "../state/tail.ts"

/** Below the limits of a call. */
const page = { limit: 50, maxBytes: 3 * 1_024 * 1_024 } as const

/**
 * Resubmits what this device has read beyond the end of the log: the service has lost it. Other members may do the same.
 *
 * @param headSeq The end of the service's log.
 * @returns True if the log reaches this device's position again. False if this device no longer has the envelopes, if
 * the lost sequence numbers were used again, or if the service refuses the envelopes and a repetition cannot succeed.
 * @throws if the service cannot be reached, or refuses them for now: the next sync resubmits them
 */
export async function resubmitTail(conversation: Conversation, headSeq: bigint): Promise<boolean> {
  const { calls, id: conversationId } = conversation
  for (let head = headSeq; ; ) {
    const { local } = await conversation.stored()
    if (local === undefined || head >= local.processedSeq) return true
    if (await isReused(conversation, head)) return false
    const envelopes = await readable(conversation, { afterSeq: head, limit: page.limit })
    if (envelopes.length === 0 || (head === 0n && envelopes[0]?.beginning === undefined)) return false
    try {
      const answer = await calls.conversations.resubmitMessages({ conversationId, envelopes })
      if (answer.headSeq <= head) return false
      head = answer.headSeq
    } catch (error) {
      if (!isFinal(error)) throw error
      const { conversation: shown } = await calls.conversations.getConversation({ conversationId })
      if (shown === undefined || shown.headSeq <= head) {
        conversation.emit({ is: "failed", conversationId, error })
        return false
      }
      // Another member was first.
      head = shown.headSeq
    }
  }
}

/**
 * True if the log ends with another envelope than this device has read there: a device that has read less has used the
 * number again. What follows would be appended to another log than it belongs to.
 */
async function isReused(conversation: Conversation, headSeq: bigint): Promise<boolean> {
  const { calls, id: conversationId } = conversation
  const range = { afterSeq: headSeq - 1n, limit: 1 }
  const [own] = headSeq === 0n ? [] : await readable(conversation, range)
  if (own === undefined) return false
  const { envelopes } = await calls.conversations.listMessages({ conversationId, ...range })
  const there = envelopes.find(({ seq }) => seq === own.seq)
  return there !== undefined && !equalBytes(there.message, own.message)
}

const finalCodes = [
  Code.Aborted,
  Code.FailedPrecondition,
  Code.InvalidArgument,
  Code.NotFound,
  Code.PermissionDenied,
  Code.Unimplemented,
]

/** True for a refusal of these envelopes. A limit, a busy service or an expired session refuses any for a while. */
function isFinal(error: unknown): boolean {
  const failure = failureOf(error)
  return failure !== undefined && !isUnreachable(error) && finalCodes.includes(failure.code)
}

/** The stored envelopes after a sequence number. A changed row must not keep the device from a rejoin. */
async function readable(
  conversation: Conversation,
  range: { readonly afterSeq: bigint; readonly limit: number },
): Promise<Envelope[]> {
  const { id: conversationId } = conversation
  try {
    return await readTail(conversation, conversationId, { ...page, ...range })
  } catch (error) {
    conversation.emit({ is: "failed", conversationId, error })
    return []
  }
}
