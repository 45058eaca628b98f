import { CanonicalError } from "@signet/canonical/errors"
import { ReportForkRequest_Fault as Fault } from "@signet/proto/messaging/v1/conversation_service"
import { isMessagingError } from "../errors.ts"
import { MlsError } from "../mls.ts"

/** Why a commit with valid signatures and valid MLS is rejected. */
export type ForkReason =
  | "ENVELOPE_MISPLACED"
  | "EPOCH_MISPLACED"
  /** The sender has seen another receipt for this epoch: the service shows two histories. */
  | "RECEIPT_SEEN_DIFFERS"
  /** The log now has another receipt for an epoch that this device has processed: the service showed two histories. */
  | "RECEIPT_TOLD_DIFFERS"
  | "STATE_TAG_DIFFERS"
  | "GROUP_NOT_NEW"
  | "LEAF_OF_ANOTHER_DEVICE"
  | "DEVICE_TWICE"
  | "THIRD_USER"
  | "GROUP_INFO_DIFFERS"

export class Forked extends Error {
  override readonly name = "Forked"
  readonly reason: ForkReason
  /** The tag of the state that the commit resulted in; empty if it was rejected before. */
  readonly stateTag: Uint8Array

  constructor(reason: ForkReason, { stateTag = new Uint8Array() }: { stateTag?: Uint8Array } = {}) {
    super(reason)
    this.reason = reason
    this.stateTag = stateTag
  }
}

export type Verdict = CanonicalError | MlsError | Forked

/** True for an error that rejects a commit; false for a fault of this device. */
export const isVerdict = (error: unknown): error is Verdict =>
  error instanceof CanonicalError || error instanceof MlsError || error instanceof Forked

/** The reason of a verdict, from the closed lists of the engine, of signed bytes, and of this client. */
export const verdictReason = (verdict: Verdict): string =>
  verdict instanceof CanonicalError ? verdict.code : verdict.reason

/**
 * True if a refresh of the issuer keys may change the result: the set lacks a key, or it has expired while the program
 * ran. The check of an own commit names its verdict as the cause.
 */
export function mayBeStaleKeys(error: unknown): boolean {
  const reason = isMessagingError(error, "ANSWER_REFUSED") ? error.cause : error
  if (!isVerdict(reason)) return isMessagingError(reason, "ISSUER_KEYS_REFUSED")
  return /_(UNKNOWN_ISSUER_KEY|ISSUER_KEY_NOT_VALID)$/.test(verdictReason(reason))
}

/** True if this device's clock, and not the commit, may be wrong. */
export const mayBeOwnClock = (verdict: Verdict): boolean => verdictReason(verdict) === "RECEIPT_FROM_FUTURE"

/** The fault of a verdict in a report to the service. */
export function faultOf(verdict: Verdict): Fault {
  if (verdict instanceof Forked) {
    if (verdict.reason === "STATE_TAG_DIFFERS") return Fault.STATE_TAG_MISMATCH
    const isOfReceipts = verdict.reason === "RECEIPT_SEEN_DIFFERS" || verdict.reason === "RECEIPT_TOLD_DIFFERS"
    return isOfReceipts ? Fault.RECEIPT_INVALID : Fault.MEMBERSHIP_INVALID
  }
  if (verdict instanceof CanonicalError) {
    return verdict.code.startsWith("RECEIPT_") ? Fault.RECEIPT_INVALID : Fault.MEMBERSHIP_INVALID
  }
  return Fault.COMMIT_UNPROCESSABLE
}
