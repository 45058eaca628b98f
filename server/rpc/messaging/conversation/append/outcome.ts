// Turns a refused append into an error with the details that a client needs to continue.
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { Refused } from "@signet/kernel/errors"
import type { DeviceId } from "@signet/kernel/ids"
import type { AppendDecision } from "@signet/kernel/messaging/append"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { Conversation, Directive } from "@signet/kernel/messaging/records"
import { CommitConflictSchema, CommitRequiredSchema, StaleEpochSchema } from "@signet/proto/messaging/v1/conflict"
import { detail, detailed } from "../../../../serving/call/detailed.ts"
import type { MessagingDeps } from "../../deps.ts"
import { directiveShape, envelopeShape } from "../conversation-shape.ts"

type OutcomeDeps = Pick<MessagingDeps, "store" | "random">

/** The refusal for a decision of `decideAppend`. @param attemptedEpoch The epoch that the request named. */
export async function appendRefusal(
  deps: OutcomeDeps,
  conversation: Conversation,
  decision: Exclude<AppendDecision, { is: "append" }>,
  attemptedEpoch: bigint,
  deviceId: DeviceId,
): Promise<Refused> {
  switch (decision.is) {
    case "conflict":
      return conflict(deps, conversation, attemptedEpoch, deviceId)
    case "stale":
      return otherEpoch(deps, conversation, "STALE_EPOCH", attemptedEpoch)
    case "commitRequired":
      return commitRequired(conversation, decision.directive)
    case "refuse":
      return decision.reason === "FUTURE_EPOCH"
        ? otherEpoch(deps, conversation, "FUTURE_EPOCH", attemptedEpoch)
        : new Refused(decision.reason)
  }
}

/** STALE_EPOCH or FUTURE_EPOCH, with the sequence number from which to read. */
export async function otherEpoch(
  { store }: Pick<MessagingDeps, "store">,
  { id, epoch }: Conversation,
  reason: "STALE_EPOCH" | "FUTURE_EPOCH",
  attemptedEpoch: bigint,
): Promise<Refused> {
  const ended = reason === "STALE_EPOCH" ? await store.conversations.commitOf(id, attemptedEpoch) : undefined
  return detailed(
    new Refused(reason),
    detail(StaleEpochSchema, {
      conversationId: id,
      attemptedEpoch,
      currentEpoch: epoch,
      fromSeq: ended?.seq ?? 0n,
    }),
  )
}

async function conflict(
  deps: OutcomeDeps,
  { id, epoch }: Conversation,
  attemptedEpoch: bigint,
  deviceId: DeviceId,
): Promise<Refused> {
  const winner = await deps.store.conversations.commitOf(id, attemptedEpoch)
  const none = new Uint8Array()
  const isSmall = winner !== undefined && winner.message.length <= maxBytes.conflictEnvelope
  return detailed(
    new Refused("COMMIT_CONFLICT"),
    detail(CommitConflictSchema, {
      conversationId: id,
      attemptedEpoch,
      currentEpoch: epoch,
      winningSeq: winner?.seq ?? 0n,
      winningCommitHash: winner?.contentHash ?? none,
      receipt: winner?.receipt ?? none,
      ...(isSmall ? { envelope: envelopeShape(winner, deviceId) } : {}),
      retryAfter: durationFromMs(jitterMs(deps)),
    }),
  )
}

/** 50 to 500 ms, so that clients which lost together do not retry together. */
function jitterMs({ random }: Pick<MessagingDeps, "random">): number {
  const [high = 0, low = 0] = random.bytes(2)
  return 50 + Math.floor(((high * 256 + low) / 65_536) * 451)
}

const commitSoonMs = 1_000

/** COMMIT_REQUIRED, with the directive to commit first. */
export function commitRequired({ id }: Conversation, directive: Directive): Refused {
  return detailed(
    new Refused("COMMIT_REQUIRED", { metadata: { retry_after: String(commitSoonMs / 1_000) } }),
    detail(CommitRequiredSchema, {
      conversationId: id,
      directive: directiveShape(directive),
      retryAfter: durationFromMs(commitSoonMs),
    }),
  )
}
