import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { type StagedCommit, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../errors.ts"
import type { Context } from "../context.ts"
import { groupToCommit } from "../conversation/status.ts"
import { MessagingError } from "../errors.ts"
import { treeOf } from "../mls.ts"
import { applyEnvelopes } from "../receiving/apply.ts"
import { catchUp } from "../receiving/log.ts"
import { dueIn } from "../state/due.ts"
import type { Seat } from "../state/held.ts"
import { afterRefusal } from "./after-refusal.ts"
import { isStaleClaim, type Plan, stageCommit } from "./staging.ts"

/** Asks the service what a commit may do, for the state that it starts from. "nothing" where it is done already. */
export type Planning = (seat: Seat, attempt: number) => Promise<Plan | "nothing">

/**
 * Commits a plan: stored before it is sent, sent again until its fate is known, and made anew on top of whatever commit
 * came first. Part of a lane.
 *
 * @param intentId names the stored intent that this is for, which ends in the transaction that takes the commit in.
 * @throws MessagingError QUEUED, CONFLICT_EXHAUSTED; and what the service refused it for, for good.
 */
export async function commit(
  context: Context,
  conversationId: string,
  intentId: string,
  planning: Planning,
): Promise<"done" | "nothing"> {
  const door = context.door(conversationId)
  for (let tries = 1, attempt = 0; ; ) {
    const seat = groupToCommit(await door.held())
    try {
      // Also one of another intent, from before a restart: what was sent is settled first.
      const settled = await sendStaged(context, conversationId)
      if (settled === intentId) return "done"
      if (settled !== undefined) continue
      const plan = await planning(seat, attempt)
      if (plan === "nothing") return "nothing"
      await stage(context, conversationId, seat, intentId, plan)
    } catch (error) {
      if (attempt === 0 && isStaleClaim(error)) {
        attempt++
        continue
      }
      await afterRefusal(context, conversationId, { kind: "commit" }, error, tries)
      if (failureOf(error)?.reason === "KEY_PACKAGE_NOT_CLAIMED") attempt++
      tries++
    }
  }
}

/** Makes the commit and stores it with the state that it leads to, unless the epoch has ended meanwhile. */
async function stage(context: Context, conversationId: string, seat: Seat, intentId: string, plan: Plan) {
  await context.door(conversationId).change(async (held) => {
    const now = groupToCommit(held)
    if (held.staged !== undefined || now.group.epoch !== seat.group.epoch) return { result: undefined }
    const staged = await stageCommit(context, conversationId, { ...held, seat: now }, intentId, plan)
    return { next: { ...held, staged }, result: undefined }
  })
}

/** Sends what is staged, if anything is. @returns The intent that it was for, once the log has it. */
async function sendStaged(context: Context, conversationId: string): Promise<string | undefined> {
  const { staged, seat, record } = await context.door(conversationId).held()
  if (staged === undefined || seat === undefined) return undefined
  const isFirst = record?.status === Status.CREATING
  const { conversations } = context.calls
  const { seq, acceptedAt, receipt } = await conversations.appendMessage({
    conversationId,
    idempotencyKey: staged.idempotencyKey,
    expectedEpoch: staged.epoch,
    payload: { case: "commit", value: await payloadOf(context, staged) },
  })
  if (isFirst || seq === seat.processedSeq + 1n) {
    const envelope = create(EnvelopeSchema, {
      seq,
      epoch: staged.epoch,
      kind: Envelope_Kind.COMMIT,
      message: staged.commit,
      contentHash: hash("commit", staged.commit),
      senderDeviceId: context.device.id ?? "",
      ...(acceptedAt === undefined ? {} : { acceptedAt }),
      receipt,
    })
    await applyEnvelopes(context, conversationId, [envelope])
  } else await catchUp(context, conversationId)
  await checkTaken(context, conversationId, staged)
  return staged.intentId
}

/**
 * Whether the log has what the service says that it took: its answer alone ends nothing.
 *
 * @throws MessagingError QUEUED, CONVERSATION_NOT_ACTIVE
 */
async function checkTaken(context: Context, conversationId: string, staged: StagedCommit): Promise<void> {
  const held = await context.door(conversationId).held()
  const isStaged = held.staged !== undefined && equalBytes(held.staged.commitHash, staged.commitHash)
  const isToDo = dueIn(held.record, "intent").some(({ key }) => key === staged.intentId)
  if (!isStaged && !isToDo) return
  groupToCommit(held)
  throw new MessagingError("QUEUED", "the service says that it was taken, and the log does not have it")
}

async function payloadOf({ engine }: Context, staged: StagedCommit) {
  const { commit: bytes, groupInfo, welcome, claimTickets, nextIdentityKey } = staged
  const bare = { commit: bytes, groupInfo, claimTickets }
  if (welcome.length === 0) return bare
  const next = await engine.decodeState({ epoch: staged.nextTree, secrets: staged.nextState }, nextIdentityKey)
  return { ...bare, welcome, tree: treeOf(next) }
}
