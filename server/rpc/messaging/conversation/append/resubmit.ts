// Appends envelopes that the service has lost, from what a member has read.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { attemptOf, decideAppend } from "@signet/kernel/messaging/append"
import { isOnTheWayOut } from "@signet/kernel/messaging/directive"
import { lostSeqGap, maxBytes } from "@signet/kernel/messaging/limits"
import type { Conversation } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import type { ResubmitMessagesRequest } from "@signet/proto/messaging/v1/conversation_service"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { parseCommit } from "../../../../framing/commit.ts"
import { parseApplication } from "../../../../framing/message.ts"
import { deviceOf } from "../../../../serving/call/calling-device.ts"
import { counted } from "../../counted.ts"
import type { MessagingDeps } from "../../deps.ts"
import { type ConversationFacts, conversationEvent } from "../../events.ts"
import { readMls } from "../../refusing.ts"
import { seen } from "../seen.ts"
import { eventsOf, hintsOf, removeRevoked } from "./after.ts"
import { expired } from "./credential.ts"
import { openFrame } from "./frame.ts"
import { appendRefusal } from "./outcome.ts"
import { verifyResubmitted } from "./resubmitted-commit.ts"
import { loadTree } from "./tree.ts"
import type { JudgedCommit } from "./verify-commit.ts"

/**
 * Appends the envelopes that continue the log, one by one: another member may resubmit the same envelopes.
 *
 * @returns The end of the log. @throws Refused what the contract lists of ResubmitMessages, if nothing was appended.
 */
export async function resubmitMessages(
  deps: MessagingDeps,
  context: HandlerContext,
  { conversationId, envelopes }: ResubmitMessagesRequest,
): Promise<{ headSeq: bigint }> {
  const device = deviceOf(context)
  await counted(deps, context, "messaging_resubmit", { device: device.id })
  if (deps.clock.nowMs() >= device.expiresAtMs) throw expired()
  let before: bigint | undefined
  let conversation = await seen(deps, context, conversationId)
  for (const envelope of envelopes) {
    ensureMember(conversation, device.id)
    const { headSeq } = conversation
    before ??= headSeq
    if (envelope.seq <= headSeq) continue
    if (envelope.seq !== headSeq + 1n && envelope.seq !== headSeq + lostSeqGap) break
    try {
      await resubmit(deps, context, conversation, envelope, headSeq === before)
    } catch (error) {
      if (!(error instanceof Refused) || headSeq === before) throw error
      break
    }
    conversation = await seen(deps, context, conversationId)
    if (conversation.headSeq === headSeq) break
  }
  return { headSeq: conversation.headSeq }
}

/** @throws Refused NOT_MEMBER, DEVICE_REVOKED */
function ensureMember({ roster, directives }: Conversation, deviceId: Conversation["roster"][number]["deviceId"]) {
  const leaf = leafOf(roster, deviceId)
  if (leaf === undefined) throw new Refused("NOT_MEMBER")
  const leaving = isOnTheWayOut(directives, leaf)
  if (leaving !== undefined) throw new Refused(leaving)
}

interface Judged {
  readonly append: VerifiedAppend
  readonly commit: JudgedCommit | null
  /** When the service accepted it first. The caller asserts it for a message. */
  readonly acceptedAtMs: number
}

async function resubmit(
  deps: MessagingDeps,
  context: HandlerContext,
  conversation: Conversation,
  envelope: Envelope,
  isFirst: boolean,
): Promise<void> {
  const nowMs = deps.clock.nowMs()
  const { append, commit, acceptedAtMs } = await judge(deps, conversation, envelope, nowMs)
  const decision = decideAppend(conversation, attemptOf(append), acceptedAtMs)
  const refuse = async (of: Conversation, decided: typeof decision) => {
    if (decided.is !== "append") throw await appendRefusal(deps, of, decided, append.epoch, append.deviceId)
  }
  await refuse(conversation, decision)
  if (decision.is !== "append") return
  const event = (facts: ConversationFacts) => conversationEvent(deps, context, conversation, nowMs, facts)
  const audit = [
    // One event for a call: the operator sees that members return what the service has lost.
    ...(isFirst ? [event({ kind: "conversation.resubmitted" })] : []),
    ...(commit === null ? [] : eventsOf(conversation, commit, decision, event)),
  ]
  const outcome = await deps.store.conversations.append(append, deps.signReceipt, acceptedAtMs, audit)
  // Another member was first, or its sender has sent it again.
  if (outcome.is === "refused") return refuse(outcome.conversation, outcome.decision)
  if (outcome.is !== "appended") return
  deps.wakeups.publish(hintsOf(outcome, commit))
  await removeRevoked(deps, outcome.conversation, commit?.added ?? [])
}

/** Verifies the bytes. @throws Refused */
async function judge(
  deps: MessagingDeps,
  conversation: Conversation,
  { seq, epoch, kind, message, receipt, acceptedAt, senderDeviceId }: Envelope,
  nowMs: number,
): Promise<Judged> {
  const idempotencyKey = deps.random.bytes(16)
  const of = { conversationId: conversation.id, idempotencyKey, message } as const
  if (kind === Envelope_Kind.COMMIT) {
    const commit = readMls(["commit_bytes", maxBytes.commit], () => parseCommit(message))
    const aad = openFrame(conversation, commit, "COMMIT")
    ensureEpoch(conversation, [epoch, commit.epoch])
    const known = {
      conversation,
      issuerKeys: deps.issuerKeys(),
      verify: deps.verify,
      tree: await loadTree(deps, conversation),
      nowMs,
    }
    const verified = verifyResubmitted(known, { commit, aad }, { message, seq, receipt })
    const { committer, judged } = verified
    const append = {
      ...of,
      deviceId: committer.id,
      userId: committer.userId,
      epoch: commit.epoch,
      contentHash: hash("commit", message),
      commit: judged.verified,
      resubmitted: { seq, receipt: verified.receipt },
    }
    return { append, commit: judged, acceptedAtMs: verified.acceptedAtMs }
  }
  const application = readMls(["application_message_bytes", maxBytes.application], () => parseApplication(message))
  openFrame(conversation, application, "APPLICATION")
  ensureEpoch(conversation, [epoch, application.epoch])
  const deviceId = parseId("dev", senderDeviceId)
  const sender = deviceId && leafOf(conversation.roster, deviceId)
  if (sender === undefined) throw new Refused("NOT_MEMBER")
  const append = {
    ...of,
    deviceId: sender.deviceId,
    userId: sender.userId,
    epoch: application.epoch,
    contentHash: hash("content", message),
    commit: null,
    resubmitted: { seq, receipt: null },
  }
  const statedMs = acceptedAt === undefined ? nowMs : timestampMs(acceptedAt)
  return { append, commit: null, acceptedAtMs: statedMs > 0 && statedMs < nowMs ? statedMs : nowMs }
}

/** @throws Refused STALE_EPOCH, FUTURE_EPOCH */
function ensureEpoch({ epoch }: Conversation, named: readonly bigint[]): void {
  if (named.some((one) => one < epoch)) throw new Refused("STALE_EPOCH")
  if (named.some((one) => one > epoch)) throw new Refused("FUTURE_EPOCH")
}
