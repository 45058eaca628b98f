// Fork reports: members that cannot apply a commit report it. With enough reports the conversation is quarantined until
// the reporters have rejoined.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { decideRejoin } from "@signet/kernel/messaging/directive"
import { isFork } from "@signet/kernel/messaging/fork"
import { onlineMs } from "@signet/kernel/messaging/limits"
import type { Conversation, ForkReport } from "@signet/kernel/messaging/records"
import { type ReportForkRequest, ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { conversationEvent } from "../events.ts"
import { ask, memberLeaf } from "./directives.ts"
import { seen, unresolved } from "./seen.ts"

const faults: readonly ForkReport["fault"][] = [
  "COMMIT_UNPROCESSABLE",
  "STATE_TAG_MISMATCH",
  "RECEIPT_INVALID",
  "MEMBERSHIP_INVALID",
]

/** @throws Refused NOT_MEMBER, CONVERSATION_CLOSED, INVALID_FIELD, RATE_LIMITED */
export async function reportFork(
  deps: MessagingDeps,
  context: HandlerContext,
  request: ReportForkRequest,
): Promise<Conversation> {
  const conversation = await seen(deps, context, request.conversationId)
  if (conversation.status === "CLOSED") throw new Refused("CONVERSATION_CLOSED")
  memberLeaf(conversation, context)
  const device = deviceOf(context)
  await counted(deps, context, "messaging_fork_report", { device: device.id })
  await ensureCommit(deps, context, conversation, request)
  const nowMs = deps.clock.nowMs()
  const report: ForkReport = {
    deviceId: device.id,
    userId: device.userId,
    epoch: request.epoch,
    seq: request.seq,
    fault: faultOf(request.fault),
    stateTag: request.stateTag.length === 0 ? null : request.stateTag,
    reportedAtMs: nowMs,
  }
  const online = await deps.store.conversations.online(conversation.id, nowMs - onlineMs)
  const after = await deps.store.conversations.reportFork(
    conversation.id,
    report,
    (_, reports) => isFork(reports, report.epoch, online),
    (isQuarantined) =>
      (["conversation.fork_reported", "conversation.quarantined"] as const)
        .slice(0, isQuarantined ? 2 : 1)
        .map((kind) => conversationEvent(deps, context, conversation, nowMs, { kind })),
  )
  if (after === undefined) throw unresolved()
  if (after.status === "QUARANTINED") await requireRejoins(deps, context, after)
  return after
}

/**
 * Issues a rejoin directive for every reporter. Otherwise a report of a device that never returns would stop the
 * conversation permanently. Repeating it is no error.
 */
async function requireRejoins(deps: MessagingDeps, context: HandlerContext, conversation: Conversation): Promise<void> {
  for (const { deviceId, userId } of conversation.forkReports) {
    await ask(
      deps,
      context,
      conversation,
      (asked) => (current) => decideRejoin(current, { ...asked, deviceId, userId }),
    ).catch(ignoreRefusal)
  }
}

/** A reporter that has no leaf, or is being removed, does not rejoin. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refused) || error.reason === "INTERNAL" || error.reason === "UNAVAILABLE") throw error
}

/** Requires that a commit of that epoch has that sequence number, and that the device was a member then. */
async function ensureCommit(
  deps: MessagingDeps,
  context: HandlerContext,
  { id, headSeq }: Conversation,
  { seq, epoch }: ReportForkRequest,
): Promise<void> {
  // Beyond the head: the number may exceed what a store accepts.
  if (seq > headSeq) throw noCommit()
  const span = await deps.store.conversations.membershipSpan(id, deviceOf(context).id, seq - 1n)
  const page = { limit: 1, maxBytes: 1 }
  const { envelopes } = await deps.store.conversations.messages(id, seq - 1n, page)
  const [envelope] = envelopes
  const isThere = envelope?.seq === seq && envelope.kind === "COMMIT" && envelope.epoch === epoch
  if (!isThere || span === undefined || seq < span.fromSeq) throw noCommit()
}

const noCommit = (): Refused =>
  new Refused("INVALID_FIELD", { message: "seq is not a commit of this epoch", metadata: { field: "seq" } })

function faultOf(number: number): ForkReport["fault"] {
  const fault = faults.find((name) => ReportForkRequest_Fault[name] === number)
  if (fault === undefined) throw new Refused("INVALID_FIELD", { metadata: { field: "fault" } })
  return fault
}
