import { utf8 } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import type { Directive } from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Context } from "../context.ts"
import { idOf } from "../ids.ts"
import { stateTag } from "../mls.ts"
import { commit } from "./commits.ts"

/** No intent is stored for them: the service asks until they are done. */
const directiveIntent = "directive"
const maxRounds = 8

/**
 * Commits the removals, and what follows them, that a conversation waits for: whoever leases one does it. Part of a lane.
 */
export async function carryOutDue(context: Context, conversationId: string): Promise<void> {
  const { conversations } = context.calls
  // Twice for a device that is to be removed and added again.
  for (let round = 0; round < maxRounds; round++) {
    const { directives } = await conversations.listDirectives({ conversationId })
    const due = directives.filter((directive) => !isAboutUs(context, directive))
    let isAnyDone = false
    for (const directive of due) isAnyDone = (await carryOut(context, conversationId, directive)) || isAnyDone
    if (!isAnyDone) return
  }
}

function isAboutUs({ owner, device }: Context, { userId, deviceId }: Directive): boolean {
  return deviceId === "" ? userId === owner.userId : deviceId === device.id
}

async function carryOut(context: Context, conversationId: string, directive: Directive): Promise<boolean> {
  const { conversations } = context.calls
  const directiveId = directive.id
  try {
    await conversations.leaseDirective({ conversationId, directiveId })
    const done = await commit(context, conversationId, directiveIntent, async ({ group }) => {
      const { authorization } = await conversations.authorizeMembership({
        conversationId,
        baseEpoch: group.epoch,
        baseStateTag: stateTag(group),
        change: { case: "carryOut", value: { directiveId, claimId: claimIdFor(context, directive) } },
      })
      if (authorization === undefined) return "nothing"
      return {
        does: "directive",
        authorization,
        isAsked: ({ userId, deviceId }) =>
          userId === directive.userId && (directive.deviceId === "" || deviceId === directive.deviceId),
      }
    })
    return done === "done"
  } catch (error) {
    // Somebody else is at it, has done it, or nothing can be done now: the directive stays and is seen again.
    if (isFailure(error, "DIRECTIVE_LEASED", "NOT_FOUND", "NOTHING_TO_DO")) return false
    if (failureOf(error)?.reason === "NO_KEY_PACKAGE") return false
    throw error
  }
}

/** The same for every try of this device, so that no key package is used up twice. */
function claimIdFor({ device }: Context, { id, status }: Directive): string {
  return idOf("clm", hash("request", utf8(`${id} ${status} ${device.id}`)).slice(0, 16))
}
