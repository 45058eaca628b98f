import { type FailureReason, failureOf } from "../../errors.ts"
import type { Random } from "../../ports.ts"
import { isUnreachable, longestAskedMs, retryDelayMs } from "./backoff.ts"

/** The kind of an appended envelope: a message, a commit of an own request, or a commit for a directive. */
export type SendItemKind = "message" | "commit" | "directive"

/** A step after a refusal. The steps of a reaction run in their order. */
export type Step =
  /** Applies the log to its end. */
  | "readLog"
  /**
   * Drops the refused commit, if it is still staged: the log does not have it, and the service will never accept it.
   */
  | "discard"
  /** Commits the directives that the service requires before it accepts messages again. */
  | "carryOutDirectives"
  /**
   * If the refusal names another commit or state, compares the log with the applied commits. An equivocation ends the
   * send.
   */
  | "checkEquivocation"
  /** Requests a rejoin if the service has lost the epoch of this device. */
  | "rejoinIfEpochLost"
  /** Stops sending if the user has left, or this device was removed. */
  | "followLeave"
  /** Requests a rejoin if the service rejects the key of our leaf, and this device has a newer credential. */
  | "rejoinIfLeafOutdated"

/** When the next attempt starts: at once, after a growing delay, or after the wait that the service asks for. */
export type Wait = "none" | "backoff" | "asked" | "askedAfterFirst"

/** How a sender reacts to a refused or failed append. */
export type Reaction =
  | {
      readonly is: "retry"
      readonly steps: readonly Step[]
      readonly wait: Wait
      /** The reason after `maxTries`, or for a longer wait than `longestAskedMs`. */
      readonly exhausted: "CONFLICT_EXHAUSTED" | "QUEUED"
    }
  /** Keeps the item, byte for byte, for the next flush. */
  | { readonly is: "queue" }
  /** Removes the message: the service will never accept it, and it blocks the messages after it. */
  | { readonly is: "drop" }
  /** Throws the refusal. */
  | { readonly is: "reject"; readonly steps: readonly Step[] }

export const maxTries = 8

const epochEnded: Reaction = { is: "retry", steps: ["readLog"], wait: "none", exhausted: "CONFLICT_EXHAUSTED" }
/** The service is behind this device: it has lost a commit. */
const epochLost: Reaction = {
  is: "retry",
  steps: ["readLog", "discard", "rejoinIfEpochLost"],
  wait: "backoff",
  exhausted: "QUEUED",
}
const commitLost: Reaction = {
  is: "retry",
  steps: ["readLog", "discard"],
  wait: "askedAfterFirst",
  exhausted: "CONFLICT_EXHAUSTED",
}
const planStale: Reaction = {
  is: "retry",
  steps: ["readLog", "discard", "checkEquivocation"],
  wait: "backoff",
  exhausted: "CONFLICT_EXHAUSTED",
}
const logLost: Reaction = { is: "retry", steps: ["readLog"], wait: "backoff", exhausted: "QUEUED" }
const rateLimited: Reaction = { is: "retry", steps: [], wait: "asked", exhausted: "QUEUED" }
const removalFirst: Reaction = {
  is: "retry",
  steps: ["discard", "carryOutDirectives", "readLog"],
  wait: "backoff",
  exhausted: "QUEUED",
}

const commitRefused: Partial<Record<FailureReason, Reaction>> = {
  COMMIT_CONFLICT: commitLost,
  STALE_EPOCH: commitLost,
  FUTURE_EPOCH: epochLost,
  PROOF_STALE: planStale,
  PROOF_REFUSED: planStale,
  KEY_PACKAGE_NOT_CLAIMED: planStale,
  LOG_INCOMPLETE: logLost,
  RATE_LIMITED: rateLimited,
}

/** All retries: the reaction to each reason of a refusal. */
const reactions: Readonly<Record<SendItemKind, Partial<Record<FailureReason, Reaction>>>> = {
  message: {
    STALE_EPOCH: epochEnded,
    FUTURE_EPOCH: epochLost,
    COMMIT_REQUIRED: removalFirst,
    LOG_INCOMPLETE: logLost,
    RATE_LIMITED: rateLimited,
    NOT_MEMBER: { is: "reject", steps: ["followLeave"] },
    CONVERSATION_CLOSED: { is: "drop" },
    LIMIT_EXCEEDED: { is: "drop" },
    INVALID_FIELD: { is: "drop" },
  },
  commit: { ...commitRefused, COMMIT_REQUIRED: removalFirst },
  // A directive is not repeated for another one: the removal has its own hint.
  directive: commitRefused,
}

const otherCommit: Reaction = { is: "reject", steps: ["discard", "checkEquivocation", "rejoinIfLeafOutdated"] }

/** Reactions to a refusal whose reason is not in the table. */
const otherwise: Readonly<Record<SendItemKind, Reaction>> = {
  message: { is: "reject", steps: ["checkEquivocation"] },
  commit: otherCommit,
  directive: otherCommit,
}

export function reactionTo(kind: SendItemKind, error: unknown): Reaction {
  const failure = failureOf(error)
  const known = failure && reactions[kind][failure.reason]
  if (known !== undefined) return known
  if (isUnreachable(error)) return { is: "queue" }
  // Not the service's refusal: something failed on this device.
  return failure === undefined ? { is: "reject", steps: [] } : otherwise[kind]
}

/**
 * The wait before the next attempt, in milliseconds.
 *
 * @param tries Attempts so far, from 1.
 * @param askedMs The service's `retry_after`.
 * @returns Undefined if there is no further attempt for now.
 */
export function waitBeforeRetry(
  wait: Wait,
  { tries, askedMs, random }: { readonly tries: number; readonly askedMs: number | undefined; readonly random: Random },
): number | undefined {
  if (tries >= maxTries) return undefined
  if (wait === "none") return 0
  const isAsked = wait === "asked" || (wait === "askedAfterFirst" && tries > 1)
  const ms = (isAsked ? askedMs : undefined) ?? retryDelayMs(random, tries)
  return ms > longestAskedMs ? undefined : ms
}
