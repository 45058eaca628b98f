// Decides what ends when a user leaves. Pure: `sending/leaving.ts` performs it.
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import {
  Directive_Status,
  DirectiveKind,
  type Conversation as ServiceConversation,
} from "@signet/proto/messaging/v1/records"
import { pendingIn } from "../state/pending-rows.ts"
import { type StoredConversation, withRecord } from "../state/stored-conversation.ts"
import type { Decision, DraftPart } from "./event.ts"

/** True if the user has asked to leave, with any device: from then on the service refuses messages of all of them. */
export const isLeaving = ({ directives }: Pick<ServiceConversation, "directives">, ownUserId: string): boolean =>
  directives.some(
    ({ kind, status, userId }) =>
      kind === DirectiveKind.LEAVE && status === Directive_Status.OPEN && userId === ownUserId,
  )

/**
 * Ends sending after a leave. A message or change that waits was not accepted, if the log was read to the end that it
 * had when the leave was shown: it is reported as unsent, or as failed. The staged commit of such a change is dropped
 * with it, because the service refuses it from then on.
 */
export function decideLeave(before: StoredConversation, headSeq: bigint): Decision<DraftPart> {
  const { local, record, staged } = before
  if (!isMember(before) || local === undefined) return { state: before, effects: [] }
  const leaving = withRecord(before, { status: Status.LEAVING })
  if (local.processedSeq < headSeq) return { state: leaving, effects: [] }
  const isOfIntent = pendingIn(record, "intent").some(({ key }) => key === staged?.intentId)
  return { state: isOfIntent ? { ...leaving, staged: undefined } : leaving, effects: [{ do: "dropPending" }] }
}

/**
 * Returns to the group after a leave that the service does not know any more, and that another device of the user asked
 * for: the service was restored, or invented it. Nobody was removed.
 */
export const decideStay = (before: StoredConversation): Decision<DraftPart> =>
  before.record?.status === Status.LEAVING && !before.record.askedToLeave
    ? { state: withRecord(before, { status: Status.ACTIVE }), effects: [] }
    : { state: before, effects: [] }

/** Ends membership without a commit: the service has closed the conversation, which has no other user. */
export const decideClose = (before: StoredConversation): Decision<DraftPart> =>
  isMember(before)
    ? {
        state: { ...withRecord(before, { status: Status.REMOVED }), staged: undefined },
        effects: [{ do: "dropPending" }],
      }
    : { state: before, effects: [] }

const isMember = ({ record }: StoredConversation): boolean =>
  record?.status === Status.ACTIVE || record?.status === Status.LEAVING
