import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { type StagedCommit, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { isFailure } from "../../errors.ts"
import { withFreshKeys } from "../checks/with-fresh-keys.ts"
import type { Context, Conversation } from "../context.ts"
import { groupToCarryOut, groupToCommit } from "../conversation/status.ts"
import { treeOf } from "../mls.ts"
import { pendingIn } from "../state/pending-rows.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { directiveIntent } from "./intent-rows.ts"
import { append, notInLog, sendUntilDone } from "./pipeline.ts"
import { isStaleClaim, type Plan, stageCommit } from "./staging.ts"

/** Requests the authorization of a change, for the state that it starts from. "nothing": the change is done already. */
type Planning = (local: LocalGroup, attempt: number) => Promise<Plan | "nothing">

/**
 * Commits a plan. The commit is stored before it is sent, and retried until its result is known. If another commit was
 * first, a new one is staged. Runs in the turn of the conversation.
 *
 * @param intentId The stored intent, which the transaction that applies the commit removes.
 * @param carryOutDirectives Commits the removals for which the service makes other commits wait.
 * @throws MessagingError QUEUED, CONFLICT_EXHAUSTED; and refusals that no retry can change
 */
export async function commit(
  conversation: Conversation,
  intentId: string,
  planning: Planning,
  carryOutDirectives?: () => Promise<void>,
): Promise<"done" | "nothing"> {
  /** Counts the claims of key packages, each of which has its own id. */
  let claims = 0
  /** The commit that the current attempt sends. */
  let sent: StagedCommit | undefined

  async function attempt(): Promise<"done" | "nothing" | "again"> {
    sent = undefined
    const stored = await conversation.stored()
    const local = groupFor(intentId, stored)
    sent = stored.staged
    // A commit of any intent, from before a restart or from another tab, is completed first.
    if (sent !== undefined) {
      await sendStaged(conversation, stored, local, sent)
      return sent.intentId === intentId ? "done" : "again"
    }
    const plan = await planning(local, claims)
    if (plan === "nothing") return "nothing"
    return withFreshKeys(conversation, () => stage(conversation, local, intentId, plan)).catch((error: unknown) => {
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
    () => {
      const commitHash = sent?.commitHash
      // A commit that was staged before, for a request, gives way to the directive.
      const isDirective = intentId === directiveIntent && (sent === undefined || sent.intentId === intentId)
      if (isDirective) return { kind: "directive", commitHash }
      return { kind: "commit", commitHash, ...(carryOutDirectives && { carryOutDirectives }) }
    },
  )
}

/**
 * Creates the commit and stores it with its resulting state, unless the epoch has ended meanwhile.
 *
 * @returns "done" if another tab has carried out the intent since.
 */
function stage(conversation: Conversation, local: LocalGroup, intentId: string, plan: Plan) {
  return conversation.change<"done" | "again">(async (stored) => {
    const now = groupFor(intentId, stored)
    if (intentId !== directiveIntent && !isStored(stored, intentId)) return { result: "done" }
    if (stored.staged !== undefined || now.group.epoch !== local.group.epoch) return { result: "again" }
    const staged = await stageCommit(conversation, { ...stored, local: now }, intentId, plan)
    return { next: { ...stored, staged }, result: "again" }
  })
}

const groupFor = (intentId: string, stored: StoredConversation): LocalGroup =>
  intentId === directiveIntent ? groupToCarryOut(stored) : groupToCommit(stored)

const isStored = ({ record }: StoredConversation, intentId: string): boolean =>
  pendingIn(record, "intent").some(({ key }) => key === intentId)

/** Sends the staged commit, and returns once it is applied. @throws MessagingError QUEUED, CONVERSATION_NOT_ACTIVE */
async function sendStaged(
  conversation: Conversation,
  { record }: StoredConversation,
  local: LocalGroup,
  staged: StagedCommit,
): Promise<void> {
  await append(conversation, local, {
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
  const stored = await conversation.stored()
  const isStaged = stored.staged !== undefined && equalBytes(stored.staged.commitHash, staged.commitHash)
  if (!isStaged && !isStored(stored, staged.intentId)) return
  groupToCarryOut(stored)
  throw notInLog()
}

async function payloadOf({ engine }: Context, staged: StagedCommit) {
  const { commit: bytes, groupInfo, welcome, claimTickets, nextIdentityKey } = staged
  const bare = { commit: bytes, groupInfo, claimTickets }
  if (welcome.length === 0) return bare
  const next = await engine.decodeState({ epoch: staged.nextTree, secrets: staged.nextState }, nextIdentityKey)
  return { ...bare, welcome, tree: treeOf(next) }
}
