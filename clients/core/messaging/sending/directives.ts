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
 * Commits the removals, and what follows them, that a conversation waits for: whoever leases one does it. Runs in the turn of the conversation.
 */
export async function carryOutDirectives(conversation: Conversation): Promise<void> {
  const { conversations } = conversation.calls
  // Twice for a device that is to be removed and added again.
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
    // Somebody else is at it, has done it, or nothing can be done now: the directive stays and is seen again.
    if (isFailure(error, "DIRECTIVE_LEASED", "NOT_FOUND", "NOTHING_TO_DO")) return false
    if (failureOf(error)?.reason === "NO_KEY_PACKAGE") return false
    if (!isMessagingError(error, "ANSWER_REFUSED")) throw error
    // It does not hold up the others.
    conversation.emit({ is: "failed", conversationId: conversation.id, error })
    return false
  }
}

const isTarget =
  (directive: Directive) =>
  ({ userId, deviceId }: Person): boolean =>
    userId === directive.userId && (directive.deviceId === "" || deviceId === directive.deviceId)

/**
 * A directive lets in again who was removed, and nobody else: nobody asked for more, and that the service says so is all
 * that its proof stands for.
 *
 * @throws MessagingError ANSWER_REFUSED where this device has not seen the target go.
 */
async function ensureWasIn({ store, rows, id: conversationId }: Conversation, directive: Directive): Promise<void> {
  for await (const entry of timelineAfter(store, rows, conversationId, 0n)) {
    if (entry.is === "membership" && entry.removed.some(isTarget(directive))) return
  }
  throw new MessagingError("ANSWER_REFUSED", "somebody is to be let in again who was never in")
}

/** The same for every try of this device, so that no key package is used up twice. */
function claimIdFor({ device }: Context, { id, status }: Directive): string {
  return idOf("clm", hash("request", utf8(`${id} ${status} ${device.id}`)).slice(0, 16))
}
