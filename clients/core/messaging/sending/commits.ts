import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { type StagedCommit, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { isFailure } from "../../errors.ts"
import type { Context, Conversation } from "../context.ts"
import { groupToCommit } from "../conversation/status.ts"
import { treeOf } from "../mls.ts"
import { dueIn } from "../state/due.ts"
import type { Held, Seat } from "../state/held.ts"
import { directiveIntent } from "./intent-rows.ts"
import { append, notInLog, sendUntilDone } from "./pipeline.ts"
import { isStaleClaim, type Plan, stageCommit } from "./staging.ts"

/** Requests the authorization of a change, for the state that it starts from. "nothing": the change is done already. */
export type Planning = (seat: Seat, attempt: number) => Promise<Plan | "nothing">

/**
 * Commits a plan. The commit is stored before it is sent, retried until its fate is known, and staged anew after another
 * commit came first. Runs in a lane.
 *
 * @param intentId names the stored intent, which the transaction that applies the commit removes.
 * @throws MessagingError QUEUED, CONFLICT_EXHAUSTED; and refusals that no retry can change
 */
export async function commit(
  conversation: Conversation,
  intentId: string,
  planning: Planning,
): Promise<"done" | "nothing"> {
  /** Counts the claims of key packages: a new one has a new claim id. */
  let claims = 0
  /** The commit that the current attempt sends. */
  let sent: StagedCommit | undefined

  async function attempt(): Promise<"done" | "nothing" | "again"> {
    sent = undefined
    const held = await conversation.held()
    const seat = groupToCommit(held)
    sent = held.staged
    // Of any intent: a commit from before a restart, or of another tab, is settled first.
    if (sent !== undefined) {
      await sendStaged(conversation, held, seat, sent)
      return sent.intentId === intentId ? "done" : "again"
    }
    const plan = await planning(seat, claims)
    if (plan === "nothing") return "nothing"
    return stage(conversation, seat, intentId, plan).catch((error: unknown) => {
      if (claims > 0 || !isStaleClaim(error)) throw error
      claims++
      return "again"
    })
  }
  return sendUntilDone(
    conversation,
    () =>
      attempt().catch((error: unknown) => {
        if (isFailure(error, "KEY_PACKAGE_NOT_CLAIMED")) claims++
        throw error
      }),
    () => ({ kind: "commit", commitHash: sent?.commitHash }),
  )
}

/**
 * Makes the commit and stores it with the state that it leads to, unless the epoch has ended since.
 *
 * @returns "done" if another tab has carried out the intent since.
 */
function stage(conversation: Conversation, seat: Seat, intentId: string, plan: Plan) {
  return conversation.change<"done" | "again">(async (held) => {
    const now = groupToCommit(held)
    if (intentId !== directiveIntent && !isStored(held, intentId)) return { result: "done" }
    if (held.staged !== undefined || now.group.epoch !== seat.group.epoch) return { result: "again" }
    const staged = await stageCommit(conversation, { ...held, seat: now }, intentId, plan)
    return { next: { ...held, staged }, result: "again" }
  })
}

const isStored = ({ record }: Held, intentId: string): boolean =>
  dueIn(record, "intent").some(({ key }) => key === intentId)

/** Sends the staged commit, and returns once it is applied. @throws MessagingError QUEUED, CONVERSATION_NOT_ACTIVE */
async function sendStaged(
  conversation: Conversation,
  { record }: Held,
  seat: Seat,
  staged: StagedCommit,
): Promise<void> {
  await append(conversation, seat, {
    kind: Envelope_Kind.COMMIT,
    epoch: staged.epoch,
    idempotencyKey: staged.idempotencyKey,
    message: staged.commit,
    contentHash: hash("commit", staged.commit),
    payload: { case: "commit", value: await payloadOf(conversation, staged) },
    beginsGroup: record?.status === Status.CREATING,
  })
  await checkApplied(conversation, staged)
}

/** @throws MessagingError QUEUED, CONVERSATION_NOT_ACTIVE if the log does not have the commit */
async function checkApplied(conversation: Conversation, staged: StagedCommit): Promise<void> {
  const held = await conversation.held()
  const isStaged = held.staged !== undefined && equalBytes(held.staged.commitHash, staged.commitHash)
  if (!isStaged && !isStored(held, staged.intentId)) return
  groupToCommit(held)
  throw notInLog()
}

async function payloadOf({ engine }: Context, staged: StagedCommit) {
  const { commit: bytes, groupInfo, welcome, claimTickets, nextIdentityKey } = staged
  const bare = { commit: bytes, groupInfo, claimTickets }
  if (welcome.length === 0) return bare
  const next = await engine.decodeState({ epoch: staged.nextTree, secrets: staged.nextState }, nextIdentityKey)
  return { ...bare, welcome, tree: treeOf(next) }
}
