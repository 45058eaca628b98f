import { equalBytes } from "@signet/canonical/bytes"
import { failureOf } from "../../errors.ts"
import type { Context, Conversation } from "../context.ts"
import { pause } from "../conversation/backoff.ts"
import { reactionTo, type Step, waitBeforeRetry } from "../conversation/retry.ts"
import { MessagingError } from "../errors.ts"
import { handleEquivocation, mayBeEquivocation } from "../receiving/equivocation.ts"
import { catchUp, rejoinIfEpochLost, requestRejoin } from "../receiving/log.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { followLeave } from "./leaving.ts"

/** An item to send, with the steps that only its kind needs. */
export type SendItem =
  | {
      readonly kind: "commit" | "directive"
      /**
       * The commit that was sent; undefined if the refusal came before. Another tab may have staged another one since.
       */
      readonly commitHash: Uint8Array | undefined
      /** Undefined for a directive, which carries out no other ones. */
      readonly carryOutDirectives?: () => Promise<void>
    }
  | {
      readonly kind: "message"
      /** Removes the message. @throws The refusal, if a caller waits for this message. */
      drop(error: unknown): Promise<void>
      /** Provided by the outbox, because directives are commits, whose refusals this module handles too. */
      carryOutDirectives(): Promise<void>
    }

/**
 * Prepares the next attempt to send an item, or throws the reason why there is none for now.
 *
 * @param tries Attempts so far, from 1.
 */
export async function afterRefusal(
  conversation: Conversation,
  item: SendItem,
  error: unknown,
  tries: number,
): Promise<void> {
  const reaction = reactionTo(item.kind, error)
  switch (reaction.is) {
    case "queue":
      throw new MessagingError("QUEUED", "the service cannot be reached", { cause: error })
    case "drop":
      if (item.kind === "message") return item.drop(error)
      throw error
    case "reject":
      if (await isSettledBy(reaction.steps, conversation, item, error)) return
      throw error
    case "retry": {
      if (await isSettledBy(reaction.steps, conversation, item, error)) return
      const askedMs = failureOf(error)?.retryAfterMs
      const waitMs = waitBeforeRetry(reaction.wait, { tries, askedMs, random: conversation.random })
      if (waitMs === undefined) {
        throw new MessagingError(reaction.exhausted, "refused too often: the next sync tries again", { cause: error })
      }
      if (waitMs > 0) await pause(conversation.clock, waitMs)
    }
  }
}

/** Runs the steps of a reaction. @returns True if a step has changed the conversation, so that no wait is needed. */
async function isSettledBy(
  steps: readonly Step[],
  conversation: Conversation,
  item: SendItem,
  error: unknown,
): Promise<boolean> {
  for (const step of steps) {
    switch (step) {
      case "readLog":
        await catchUp(conversation)
        break
      case "discard":
        if (item.kind !== "message") await discardStaged(conversation, item.commitHash)
        break
      case "carryOutDirectives":
        await item.carryOutDirectives?.()
        break
      case "checkEquivocation":
        if (mayBeEquivocation(error) && (await handleEquivocation(conversation))) return true
        break
      case "rejoinIfEpochLost":
        if (await rejoinIfEpochLost(conversation)) return true
        break
      case "followLeave":
        if (await followLeave(conversation)) return true
        break
      case "rejoinIfLeafOutdated":
        if (isLeafOutdated(conversation, await conversation.stored(), error)) {
          await requestRejoin(conversation)
          return true
        }
    }
  }
  return false
}

/**
 * Drops a refused commit, which the log will never have. A commit that another tab has staged since is kept: it may be
 * in the log, and a device that does not know its own commit must rejoin.
 */
async function discardStaged(conversation: Conversation, commitHash: Uint8Array | undefined): Promise<void> {
  await conversation.change(async (stored) => {
    const isRefused =
      commitHash !== undefined && stored.staged !== undefined && equalBytes(stored.staged.commitHash, commitHash)
    if (!isRefused) return { result: undefined }
    return { next: { ...stored, staged: undefined }, result: undefined }
  })
}

/**
 * True if the service rejects the key of our leaf: its credential expired while the device was offline, and the device
 * has another one now. The device cannot renew its leaf then, and is added again.
 */
function isLeafOutdated({ device }: Context, { local }: StoredConversation, error: unknown): boolean {
  const isRefused = failureOf(error)?.metadata.code === "MLS_BAD_SIGNATURE"
  return isRefused && local !== undefined && !equalBytes(local.identityKey, device.identity().signatureKey)
}
