import { equalBytes, utf8 } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Directive, DirectiveKind } from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import { rosterOf } from "../checks/roster.ts"
import type { Context, Conversation } from "../context.ts"
import { longestAskedMs, pause, retryDelayMs } from "../conversation/backoff.ts"
import { isLeaving } from "../conversation/leaving.ts"
import { commitsForOthers } from "../conversation/status.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { Person } from "../events.ts"
import { idOf } from "../ids.ts"
import { type GroupState, stateTag } from "../mls.ts"
import type { ConversationState } from "../state/conversation-state.ts"
import { timelineAfter } from "../state/timeline.ts"
import { inBackground } from "../sync/background.ts"
import { readDevices } from "../verification/device-lists.ts"
import { commit } from "./commits.ts"
import { directiveIntent } from "./intent-rows.ts"
import { followLeave } from "./leaving.ts"

const maxRounds = 8
/**
 * How often a device tries, if another one holds the lease or a call fails. An honest service grants one lease of others
 * for each phase of a directive.
 */
const maxReturns = 3

/** Conversations whose directives are looked at again when a lease ends, or after a failure. */
const returning = new WeakSet<ConversationState>()

/**
 * Carries out the service's directives: removals, and additions of removed devices. A device leases a directive before
 * it commits it. If another device holds the lease, this device returns when it ends: then every member can commit it.
 * Runs in the turn of the conversation.
 */
export async function carryOutDirectives(conversation: Conversation, returns = maxReturns): Promise<void> {
  const { conversations } = conversation.calls
  // A device that is removed and added again takes two rounds.
  for (let round = 0; round < maxRounds; round++) {
    const { directives } = await conversations.listDirectives({ conversationId: conversation.id })
    if (isLeaving({ directives }, conversation.owner.userId)) {
      await followLeave(conversation)
      return
    }
    const due = directives.filter((directive) => !isAboutUs(conversation, directive)).sort(removalsFirst)
    if (due.length > 0) await renewOutdatedLeaf(conversation)
    let isAnyDone = false
    let leasedMs: number | undefined
    for (const directive of due) {
      const done = await carryOut(conversation, directive)
      if (done === "done") isAnyDone = true
      else if (done !== "later") leasedMs = Math.min(done.leasedMs, leasedMs ?? done.leasedMs)
    }
    if (isAnyDone) continue
    if (leasedMs !== undefined) returnAfter(conversation, leasedMs, returns - 1)
    return
  }
}

/** The service accepts no directive's commit from a leaf whose credential has expired, and its renewal before removals. */
async function renewOutdatedLeaf(conversation: Conversation): Promise<void> {
  const { local } = await conversation.stored()
  const isOutdated = local !== undefined && !equalBytes(local.identityKey, conversation.device.identity().signatureKey)
  if (isOutdated) await commit(conversation, directiveIntent, async () => "update")
}

/** The service accepts a rejoin only after the removals. */
const removalsFirst = (one: Directive, other: Directive): number => rank(one) - rank(other)
const rank = ({ kind }: Directive): number => (kind === DirectiveKind.REJOIN ? 1 : 0)

function returnAfter(conversation: Conversation, ms: number, returns: number): void {
  if (returns === 0 || returning.has(conversation)) return
  returning.add(conversation)
  inBackground(conversation, conversation.id, async () => {
    await pause(conversation.clock, ms)
    returning.delete(conversation)
    await carryOutIfActive(conversation, returns)
  })
}

/**
 * Carries out directives in a turn of its own, if this device can commit. After a failure the device returns: it may be the
 * only member online, and the service sends no second hint.
 */
export async function carryOutIfActive(conversation: Conversation, returns = maxReturns): Promise<void> {
  const { record } = await conversation.stored()
  const isAble = record?.status === Status.ACTIVE || commitsForOthers(record)
  if (!isAble) return
  try {
    await conversation.inTurn(() => carryOutDirectives(conversation, returns))
  } catch (error) {
    const isOver = isMessagingError(error, "CLOSED", "DEVICE_ENDED")
    if (!isOver) returnAfter(conversation, retryDelayMs(conversation.random, 1), returns - 1)
    throw error
  }
}

function isAboutUs({ owner, device }: Context, { userId, deviceId }: Directive): boolean {
  return deviceId === "" ? userId === owner.userId : deviceId === device.id
}

/** "later": with the next hint or sync. */
type Outcome = "done" | "later" | { readonly leasedMs: number }

async function carryOut(conversation: Conversation, directive: Directive): Promise<Outcome> {
  const { conversations } = conversation.calls
  const directiveId = directive.id
  try {
    await conversations.leaseDirective({ conversationId: conversation.id, directiveId })
    const done = await commit(conversation, directiveIntent, async ({ group }) => {
      const { authorization } = await conversations.authorizeMembership({
        conversationId: conversation.id,
        baseEpoch: group.epoch,
        baseStateTag: stateTag(group),
        change: { case: "carryOut", value: { directiveId, claimId: claimIdFor(conversation, directive) } },
      })
      if (authorization === undefined) return "nothing"
      const isAdding = authorization.keyPackageRefs.length > 0
      if (isAdding) await ensureMayBeAdded(conversation, group, directive)
      return { does: "directive", authorization, isAsked: isTarget(directive) }
    })
    return done === "done" ? "done" : "later"
  } catch (error) {
    if (isFailure(error, "DIRECTIVE_LEASED")) {
      return { leasedMs: Math.min(failureOf(error)?.retryAfterMs ?? 0, longestAskedMs) }
    }
    // Done by another member, or not possible now.
    if (isFailure(error, "NOT_FOUND", "NOTHING_TO_DO", "NO_KEY_PACKAGE", "COMMIT_REQUIRED")) return "later"
    if (!isMessagingError(error, "ANSWER_REFUSED") && !isFailure(error, "CREDENTIAL_REFUSED")) throw error
    // The other directives are carried out.
    conversation.emit({ is: "failed", conversationId: conversation.id, error })
    return "later"
  }
}

const isTarget =
  (directive: Directive) =>
  ({ userId, deviceId }: Person): boolean =>
    userId === directive.userId && (directive.deviceId === "" || deviceId === directive.deviceId)

/**
 * Checks that a device to be added by a directive was removed before, or is in the signed device list of a member. No
 * member requested the addition, and its proof shows only that the service did, so the service could otherwise add any
 * device.
 *
 * @throws MessagingError ANSWER_REFUSED; CanonicalError LIST_*
 */
async function ensureMayBeAdded(conversation: Conversation, group: GroupState, directive: Directive): Promise<void> {
  const { store, rows, id: conversationId } = conversation
  for await (const entry of timelineAfter(store, rows, conversationId, 0n)) {
    if (entry.is === "membership" && entry.removed.some(isTarget(directive))) return
  }
  const { userId, deviceId } = directive
  if (![...rosterOf(group).values()].some((member) => member.userId === userId)) {
    throw new MessagingError("ANSWER_REFUSED", "the directive adds a device of a user who is not a member")
  }
  const { active } = await readDevices(conversation, userId, undefined)
  if (active.some((device) => device.deviceId === deviceId)) return
  throw new MessagingError("ANSWER_REFUSED", "the directive adds a device that its user's device list does not have")
}

/** Deterministic for this device and directive, so that retries claim no further key package. */
function claimIdFor({ device }: Context, { id, status }: Directive): string {
  return idOf("clm", hash("request", utf8(`${id} ${status} ${device.id}`)).slice(0, 16))
}
