// A device that enters a group by a welcome or a reset has not read the log of the time between. Messages whose answers
// were lost may be in it.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { equalBytes } from "@signet/canonical/bytes"
import type { OutboxRecord } from "@signet/proto/client/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import { parseContent } from "../content.ts"
import type { Conversation } from "../context.ts"
import type { Accepted } from "../conversation/accepted.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import type { At } from "../conversation/event.ts"
import { hasUsedKey } from "../conversation/status.ts"
import { ownContent } from "../receiving/open-message.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { outboxIn, readOutbox } from "./outbox-rows.ts"

/** An accepted message, and the bytes that were accepted. */
interface AcceptedBytes extends Accepted {
  readonly contentHash: Uint8Array
}

/**
 * Looks for stored messages that the service has accepted. The stored bytes are sent again. The service answers with the
 * position of an accepted message. It refuses every other one of an ended epoch, and accepts it if the epoch continues.
 *
 * @throws if the service cannot be reached: nothing may be encrypted again before the outcome is known.
 */
export async function findAccepted(conversation: Conversation): Promise<AcceptedBytes[]> {
  const { owner, device } = conversation
  const from = { userId: owner.userId, deviceId: device.id ?? "" }
  const found: AcceptedBytes[] = []
  const stored = await conversation.record()
  for (const { id: outboxId, record } of await readOutbox(conversation)) {
    // Not encrypted yet.
    if (record.message.length === 0) continue
    // Members would reject it. The log does not have it: a restored state reads the log to its end before it sends.
    if (hasUsedKey(stored, record)) continue
    // Sent again after a loss: readers recognize a second copy.
    if (parseContent(record.plaintext).is === "resent") continue
    const at = await positionOf(conversation, record)
    if (at === undefined) continue
    const content = ownContent(at, { bytes: record.plaintext, from, outboxId })
    const { entry, manifest } = content
    if (entry !== undefined) found.push({ outboxId, contentHash: record.contentHash, entry, manifest })
  }
  return found
}

async function positionOf(
  { calls, id: conversationId }: Conversation,
  { idempotencyKey, epoch, message }: OutboxRecord,
): Promise<At | undefined> {
  try {
    const { seq, acceptedAt } = await calls.conversations.appendMessage({
      conversationId,
      idempotencyKey,
      expectedEpoch: epoch,
      payload: { case: "application", value: message },
    })
    return { seq, atMs: acceptedAt === undefined ? 0 : timestampMs(acceptedAt) }
  } catch (error) {
    if (failureOf(error) === undefined || isUnreachable(error) || isFailure(error, "RATE_LIMITED")) throw error
    return undefined
  }
}

/** The accepted messages that still wait in a stored state, byte for byte. Inside a change. */
export async function stillWaiting(
  conversation: Conversation,
  stored: StoredConversation,
  accepted: readonly AcceptedBytes[],
): Promise<AcceptedBytes[]> {
  if (accepted.length === 0) return []
  const waiting = await outboxIn(conversation, conversation.id, stored)
  return accepted.filter(({ outboxId, contentHash }) =>
    waiting.some(({ id, record }) => id === outboxId && equalBytes(record.contentHash, contentHash)),
  )
}
