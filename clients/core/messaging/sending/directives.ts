import { utf8 } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import type { Directive } from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Context, Conversation } from "../context.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { Person } from "../events.ts"
import { idOf } from "../ids.ts"
import { stateTag } from "../mls.ts"
import { timelineAfter } from "../state/timeline.ts"
import { commit } from "./commits.ts"
import { directiveIntent } from "./intent-rows.ts"

const maxRounds = 8

/**
 * Carries out the service's directives: removals, and additions of removed devices. A device leases a directive before
 * it commits it. Runs in the turn of the conversation.
 */
export async function carryOutDirectives(conversation: Conversation): Promise<void> {
  const { conversations } = conversation.calls
  // A device that is removed and added again takes two rounds.
  for (let round = 0; round < maxRounds; round++) {
    const { directives } = await conversations.listDirectives({ conversationId: conversation.id })
    const due = directives.filter((directive) => !isAboutUs(conversation, directive))
    let isAnyDone = false
    for (const directive of due) isAnyDone = (await carryOut(conversation, directive)) || isAnyDone
    if (!isAnyDone) return
  }
}

function isAboutUs({ owner, device }: Context, { userId, deviceId }: Directive): boolean {
  return deviceId === "" ? userId === owner.userId : deviceId === device.id
}

async function carryOut(conversation: Conversation, directive: Directive): Promise<boolean> {
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
      if (isAdding) await ensureWasIn(conversation, directive)
      return { does: "directive", authorization, isAsked: isTarget(directive) }
    })
    return done === "done"
  } catch (error) {
    // Another device has leased or completed it, or it cannot be carried out yet. A pending directive is listed again.
    if (isFailure(error, "DIRECTIVE_LEASED", "NOT_FOUND", "NOTHING_TO_DO")) return false
    if (failureOf(error)?.reason === "NO_KEY_PACKAGE") return false
    if (!isMessagingError(error, "ANSWER_REFUSED")) throw error
    // A refused directive does not block the others.
    conversation.emit({ is: "failed", conversationId: conversation.id, error })
    return false
  }
}

const isTarget =
  (directive: Directive) =>
  ({ userId, deviceId }: Person): boolean =>
    userId === directive.userId && (directive.deviceId === "" || deviceId === directive.deviceId)

/**
 * Checks that a device to be added by a directive was removed before. No member requested the addition, and its proof
 * shows only that the service did, so the service could otherwise add any device.
 *
 * @throws MessagingError ANSWER_REFUSED if this device has not seen the target's removal.
 */
async function ensureWasIn({ store, rows, id: conversationId }: Conversation, directive: Directive): Promise<void> {
  for await (const entry of timelineAfter(store, rows, conversationId, 0n)) {
    if (entry.is === "membership" && entry.removed.some(isTarget(directive))) return
  }
  throw new MessagingError("ANSWER_REFUSED", "somebody is to be let in again who was never in")
}

/** Deterministic for this device and directive, so that retries claim no further key package. */
function claimIdFor({ device }: Context, { id, status }: Directive): string {
  return idOf("clm", hash("request", utf8(`${id} ${status} ${device.id}`)).slice(0, 16))
}
