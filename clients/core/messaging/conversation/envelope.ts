// Decides the state changes of an envelope. Pure: engine, checks and store run between the decisions.
import { create, toBinary } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import {
  ConversationRecord_QuarantineSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { Forked, faultOf, mayBeOwnClock, mayBeStaleKeys, type Verdict, verdictReason } from "../checks/verdict.ts"
import { MessagingError } from "../errors.ts"
import type { Person } from "../events.ts"
import { removeIntent } from "../sending/intent-rows.ts"
import { removeOutboxItem } from "../sending/outbox-rows.ts"
import { type LocalGroup, type StoredConversation, withoutGroup, withRecord } from "../state/stored-conversation.ts"
import type { Arrival, At, CommitOutcome, Decision, DraftEffect, EnvelopeEvent } from "./event.ts"
import { actionFor, isAfterLoss, isLaterReset, isStagedCommit, isUnannounced } from "./order.ts"
import { groupToRead, isAway, withUsedKeys } from "./status.ts"

type EnvelopeDecision = Decision<DraftEffect>
type Of<On extends EnvelopeEvent["on"]> = Extract<EnvelopeEvent, { on: On }>

const to = (state: StoredConversation, ...effects: readonly DraftEffect[]): EnvelopeDecision => ({ state, effects })

/** @throws MessagingError ENVELOPE_INVALID for an envelope of a caller; CLOCK_WRONG */
export function decideEnvelope(state: StoredConversation, event: EnvelopeEvent): EnvelopeDecision {
  switch (event.on) {
    case "envelope":
      return afterArrival(state, event.arrival)
    case "opened":
      return afterOpened(state, event)
    case "verified":
      return afterVerified(state, event)
    case "rejected":
      return afterVerdict(state, event.arrival, event.verdict)
  }
}

function afterArrival(state: StoredConversation, { envelope, source, isOwn, isNextInLog }: Arrival): EnvelopeDecision {
  const action = actionFor(state, envelope)
  if (action === "skip") return to(state)
  const isLater = action === "gap" && isNextInLog && (isAfterLoss(state, envelope) || isLaterReset(state, envelope))
  if (action !== "next" && !isLater) return to(state, { do: "end", why: "end" })
  if (envelope.kind !== Envelope_Kind.COMMIT) {
    const { group } = groupToRead(state)
    const announce = { do: "seeKeys", before: state, group, at: acceptedAt(envelope) } as const
    return to(state, ...(isUnannounced(state) ? [announce] : []), { do: "openMessage" })
  }
  if (isStagedCommit(state, envelope)) return to(state, { do: "verifyCommit" })
  const isCreating = state.record?.status === Status.CREATING
  if (source === "caller" && (isOwn || isCreating)) throw invalid("not in the log")
  // The service accepted the first commit of another device instead of ours.
  return isCreating ? leave(state, Status.WAITING) : to(state, { do: "verifyCommit" })
}

function afterOpened(
  state: StoredConversation,
  { arrival, entry, missing, manifest, ownItem, next, resent }: Of<"opened">,
): EnvelopeDecision {
  const { seq } = arrival.envelope
  const effects: DraftEffect[] = missing === undefined ? [] : [{ do: "entry", entry: missing }]
  if (entry !== undefined) effects.push({ do: "entry", entry })
  if (resent !== undefined) effects.push({ do: "markResent", key: resent })
  if (manifest !== undefined) effects.push({ do: "putManifest", seq, manifest })
  if (ownItem !== undefined) effects.push({ do: "changePending", change: removeOutboxItem(ownItem) })
  if (next !== undefined) effects.push({ do: "wipe", wipe: next.wipe })
  return to(advance(state, { processedSeq: seq, ...(next && { group: next.group }) }), ...effects)
}

function afterVerified(
  state: StoredConversation,
  { arrival, receipt, outcome, wipe }: Of<"verified">,
): EnvelopeDecision {
  const at = { seq: arrival.envelope.seq, atMs: Number(receipt.acceptedAtMs) }
  const after = outcome.is === "epoch" ? enter(state, at, receipt, outcome) : leaveBy(state, at, outcome)
  return to(after.state, { do: "wipe", wipe }, ...after.effects)
}

/** Enters the epoch that a commit began. */
function enter(
  before: StoredConversation,
  at: At,
  { hash, acceptedAtMs }: Of<"verified">["receipt"],
  { group, treeHash, committer, added, removed, own }: Extract<CommitOutcome, { is: "epoch" }>,
): EnvelopeDecision {
  const { record, staged } = before
  const isReset = own?.isReset === true
  const entered = withRecord(before, {
    ...(own && record?.status === Status.CREATING && { status: Status.ACTIVE }),
    ...(isReset && resetAt(at, group.groupId, own.asksConfirmation)),
    ...(isReset && { joinedSeq: at.seq }),
  })
  const next = advance(entered, {
    group,
    treeHash,
    processedSeq: at.seq,
    receipt: { hash, acceptedAtMs },
    ...(own && staged && { identityKey: staged.nextIdentityKey }),
    ...(own && staged?.renewsLeaf && { leafRenewedAt: own.nowSeconds }),
  })
  const effects: DraftEffect[] = [...gapBefore(before, at), { do: "seeKeys", before, group, at }]
  if (isReset) effects.push({ do: "entry", entry: { ...at, is: "reset", by: committer } })
  else if (added.length + removed.length > 0) effects.push(membership(at, committer, added, removed))
  if (own && staged) effects.push({ do: "changePending", change: removeIntent(staged.intentId) })
  return to({ ...next, staged: undefined }, ...effects, { do: "noticeKeys", group })
}

/** Leaves the group by a commit that removed this device, or by another's reset. */
function leaveBy(
  before: StoredConversation,
  at: At,
  outcome: Exclude<CommitOutcome, { is: "epoch" }>,
): EnvelopeDecision {
  if (outcome.is === "removed") {
    const status = isAway(before.record) ? Status.WAITING : Status.REMOVED
    const entry = membership(at, outcome.committer, [], outcome.removed)
    const dropped: DraftEffect[] = status === Status.REMOVED ? [{ do: "dropPending" }] : []
    return to(withoutGroup(withRecord(before, { status, commitsForOthers: false })), entry, ...dropped)
  }
  const waiting = withRecord(before, {
    ...resetAt(at, outcome.mlsGroupId, outcome.asksConfirmation),
    status: Status.WAITING,
    // The next welcome is for the reset or a later commit.
    joinedSeq: at.seq - 1n,
    pendingConsume: undefined,
  })
  const missed = gapBefore(before, at)
  return to(withoutGroup(waiting), ...missed, { do: "entry", entry: { ...at, is: "reset", by: undefined } })
}

function afterVerdict(state: StoredConversation, arrival: Arrival, verdict: Verdict): EnvelopeDecision {
  const { envelope, source, isOwn } = arrival
  const isCommit = envelope.kind === Envelope_Kind.COMMIT
  const reason = verdictReason(verdict)
  // The log repeats bytes of this device. They say nothing new.
  if (source === "log" && reason === "OWN_REPLAY") return to(advance(state, { processedSeq: envelope.seq }))
  if (!isCommit && source === "log" && !(verdict instanceof Forked)) {
    const next = advance(state, { processedSeq: envelope.seq })
    const entry = { ...acceptedAt(envelope), is: "unreadable", reason } as const
    // This device signed the message, and does not know it: the stored state is older than one that was used.
    return reason === "OWN_UNKNOWN"
      ? afterNewer(next, envelope, { do: "entry", entry })
      : to(next, { do: "entry", entry })
  }
  // This device committed, but its state does not have the commit: an older state was restored. The service asserts the
  // envelope's sender. It is credible with a valid receipt, if the commit names our leaf.
  if (isCommit && isOwn && reason === "MLS_BAD_SENDER") return afterNewer(withoutGroup(state), envelope)
  if (!arrival.hasFreshKeys && mayBeStaleKeys(verdict)) return to(state, { do: "end", why: "needsIssuerKeys" })
  if (mayBeOwnClock(verdict)) throw new MessagingError("CLOCK_WRONG", "the clock is behind", { cause: verdict })
  if (source === "log") return to(quarantine(state, envelope, verdict))
  // The batch applied valid envelopes before the rejected one.
  if (arrival.hasAdvanced) return to(state, { do: "end", why: "end" })
  throw invalid("the envelope fails its checks", verdict)
}

/** Stops reading, and stores the envelope as evidence. The state stays. */
export function quarantine(state: StoredConversation, envelope: Envelope, verdict: Verdict): StoredConversation {
  const evidence = create(ConversationRecord_QuarantineSchema, {
    reason: verdictReason(verdict),
    seq: envelope.seq,
    epoch: envelope.epoch,
    envelope: toBinary(EnvelopeSchema, envelope),
    stateTag: verdict instanceof Forked ? verdict.stateTag : new Uint8Array(),
    fault: faultOf(verdict),
  })
  return withRecord(state, { status: Status.QUARANTINED, quarantine: evidence })
}

/** The position and the acceptance time. The service asserts the time; an invalid one becomes 0. */
export function acceptedAt({ seq, acceptedAt: time }: Envelope): At {
  const ms = time === undefined ? 0 : timestampMs(time)
  return { seq, atMs: Number.isSafeInteger(ms) && ms > 0 ? ms : 0 }
}

const advance = (state: StoredConversation, changes: Partial<LocalGroup>): StoredConversation => ({
  ...state,
  local: { ...groupToRead(state), ...changes },
})

const withStatus = (state: StoredConversation, status: Status): StoredConversation =>
  withRecord(state, isAway(state.record) ? { commitsForOthers: false } : { status })

/**
 * The state after an item that a newer state of this device has sent. That state may have encrypted the waiting messages
 * again and sent them: they would be read twice.
 */
function afterNewer(state: StoredConversation, item: Envelope, ...effects: readonly DraftEffect[]): EnvelopeDecision {
  const uncertain = { do: "dropUncertain", untilMs: acceptedAt(item).atMs } as const
  return to(
    withUsedKeys(withStatus(state, Status.ROLLED_BACK)),
    ...effects,
    ...(isAway(state.record) ? [] : [uncertain]),
  )
}

/** Stops reading the log: the next envelopes do not continue the stored state. */
const leave = (state: StoredConversation, status: Status): EnvelopeDecision =>
  to(withoutGroup(withStatus(state, status)))

const resetAt = ({ seq: resetSeq }: At, mlsGroupId: Uint8Array, asksConfirmation: boolean) => ({
  mlsGroupId,
  resetSeq,
  asksConfirmation,
})

/** A gap before a commit, if this device has not read the log up to it. A new device has read nothing. */
function gapBefore({ local }: StoredConversation, at: At): readonly DraftEffect[] {
  const afterSeq = local?.processedSeq ?? 0n
  if (afterSeq === 0n || at.seq === afterSeq + 1n) return []
  return [{ do: "entry", entry: { ...at, is: "gap", afterSeq } }]
}

const membership = (at: At, committer: Person, added: readonly Person[], removed: readonly Person[]): DraftEffect => ({
  do: "entry",
  entry: { ...at, is: "membership", committer, added, removed },
})

const invalid = (message: string, cause?: unknown) => new MessagingError("ENVELOPE_INVALID", message, { cause })
