// Appends envelopes that the service has lost, from what a member has read.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext } from "@connectrpc/connect"
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { attemptOf, decideAppend } from "@signet/kernel/messaging/append"
import { isOnTheWayOut } from "@signet/kernel/messaging/directive"
import { lostSeqGap, maxBytes, maxCount } from "@signet/kernel/messaging/limits"
import type { Conversation } from "@signet/kernel/messaging/records"
import { beforeReset, isOtherGroup } from "@signet/kernel/messaging/reset"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import type { ResubmitMessagesRequest } from "@signet/proto/messaging/v1/conversation_service"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { type Commit, parseCommit } from "../../../../framing/commit.ts"
import { parseApplication } from "../../../../framing/message.ts"
import { deviceOf } from "../../../../serving/call/calling-device.ts"
import { counted } from "../../counted.ts"
import type { MessagingDeps } from "../../deps.ts"
import { type ConversationFacts, conversationEvent } from "../../events.ts"
import { limitExceeded, readMls } from "../../refusing.ts"
import { conversationIdOf, seen, unresolved } from "../seen.ts"
import { eventsOf, hintsOf, removeRevoked } from "./after.ts"
import { expired } from "./credential.ts"
import { openFrame } from "./frame.ts"
import { appendRefusal } from "./outcome.ts"
import { conversationOfBeginning, verifyBeginning } from "./resubmitted-beginning.ts"
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
  await restoreConversation(deps, context, conversationId, envelopes[0])
  let conversation = await seen(deps, context, conversationId)
  for (const envelope of envelopes) {
    const { headSeq } = conversation
    // The caller may be a member only in the group that the commit begins.
    if (envelope.seq <= headSeq || envelope.beginning === undefined) ensureMember(conversation, device.id)
    before ??= headSeq
    // Another envelope has taken the number since: what follows it here continues another log.
    if (envelope.seq === headSeq && !(await isInLog(deps, conversation, envelope))) break
    if (envelope.seq <= headSeq) continue
    if (envelope.seq !== headSeq + 1n && envelope.seq !== headSeq + lostSeqGap) break
    try {
      await resubmit(deps, context, conversation, envelope, headSeq === before)
    } catch (error) {
      if (!(error instanceof Refused) || headSeq === before) throw error
      break
    }
    conversation = await seen(deps, context, conversationId)
  }
  return { headSeq: conversation.headSeq }
}

/**
 * Creates the conversation of a first commit, if the service has lost both. Other members may do the same.
 *
 * @throws Refused as `verifyBeginning`; RESOURCE_UNRESOLVED if the two users have another direct conversation now
 */
async function restoreConversation(
  deps: MessagingDeps,
  context: HandlerContext,
  conversationId: string,
  first: Envelope | undefined,
): Promise<void> {
  const id = conversationIdOf(conversationId)
  const { beginning, seq, message } = first ?? {}
  if (beginning === undefined || seq !== 1n || message === undefined || first === undefined) return
  if ((await deps.store.conversations.find(id)) !== undefined) return
  const device = deviceOf(context)
  const nowMs = deps.clock.nowMs()
  const commit = readMls(["commit_bytes", maxBytes.commit], () => parseCommit(message))
  const known = { issuerKeys: deps.issuerKeys(), verify: deps.verify, nowMs: acceptedMs(first, nowMs) }
  const maxLeaves = deps.leavesPerConversation
  const conversation = conversationOfBeginning(id, device, commit, { known, beginning, maxLeaves })
  const { append } = await judge(deps, conversation, first, nowMs)
  ensureMember({ roster: append.commit?.roster ?? [], directives: [] }, device.id)
  // The same for each member that returns it.
  const by = {
    deviceId: append.deviceId,
    idempotencyKey: append.contentHash.slice(0, 16),
    requestHash: append.contentHash,
  }
  const event = conversationEvent(deps, context, conversation, nowMs, { kind: "conversation.created" })
  const created = await deps.store.conversations.create(conversation, by, event)
  if (created.is === "full") throw limitExceeded("conversations_per_user", maxCount.conversationsPerUser)
  if (created.is === "mismatch" || created.conversation.id !== id) throw unresolved()
  deps.wakeups.publish([{ is: "member", deviceId: append.deviceId, conversationId: id }])
}

/** @throws Refused NOT_MEMBER, DEVICE_REVOKED */
function ensureMember(
  { roster, directives }: Pick<Conversation, "roster" | "directives">,
  deviceId: Conversation["roster"][number]["deviceId"],
) {
  const leaf = leafOf(roster, deviceId)
  if (leaf === undefined) throw new Refused("NOT_MEMBER")
  const leaving = isOnTheWayOut(directives, leaf)
  if (leaving !== undefined) throw new Refused(leaving)
}

async function isInLog(
  { store }: Pick<MessagingDeps, "store">,
  { id }: Conversation,
  { seq, message }: Envelope,
): Promise<boolean> {
  const { envelopes } = await store.conversations.messages(id, seq - 1n, { limit: 1, maxBytes: maxBytes.page })
  const [there] = envelopes
  // A pruned envelope is not compared.
  return there?.seq !== seq || equalBytes(there.message, message)
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
  if (envelope.beginning !== undefined) {
    ensureMember({ ...conversation, roster: append.commit?.roster ?? [] }, deviceOf(context).id)
  }
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
  const creator = envelope.beginning === undefined ? [] : [{ deviceId: append.deviceId, userId: append.userId }]
  await removeRevoked(deps, outcome.conversation, [...creator, ...(commit?.added ?? [])])
}

/** Verifies the bytes. @throws Refused */
async function judge(
  deps: MessagingDeps,
  conversation: Conversation,
  envelope: Envelope,
  nowMs: number,
): Promise<Judged> {
  const { seq, epoch, kind, message, receipt, beginning, senderDeviceId } = envelope
  const idempotencyKey = deps.random.bytes(16)
  const of = { conversationId: conversation.id, idempotencyKey, message } as const
  if (kind === Envelope_Kind.COMMIT) {
    const commit = readMls(["commit_bytes", maxBytes.commit], () => parseCommit(message))
    const isReset = beginning !== undefined && conversation.epoch > 0n && mayReset(conversation, commit)
    const base = isReset ? beforeReset(conversation, commit.groupId) : conversation
    const aad = openFrame(base, commit, "COMMIT")
    ensureEpoch(conversation, [epoch, commit.epoch])
    const known = { conversation: base, issuerKeys: deps.issuerKeys(), verify: deps.verify, nowMs }
    const returned = { message, seq, receipt }
    const verified = beginning
      ? verifyBeginning(known, { commit, aad }, returned, beginning)
      : verifyResubmitted({ ...known, tree: await loadTree(deps, conversation) }, { commit, aad }, returned)
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
    // A reset notifies every member of the replaced group, also those in the new group.
    const removed = isReset ? conversation.roster : judged.removed
    return { append, commit: { ...judged, removed }, acceptedAtMs: verified.acceptedAtMs }
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
  return { append, commit: null, acceptedAtMs: acceptedMs(envelope, nowMs) }
}

const mayReset = (conversation: Conversation, { groupId }: Pick<Commit, "groupId">): boolean =>
  conversation.kind === "DIRECT" && isOtherGroup(conversation, groupId)

/** When the service accepted an envelope first, by the caller's word. */
function acceptedMs({ acceptedAt }: Envelope, nowMs: number): number {
  const statedMs = acceptedAt === undefined ? nowMs : timestampMs(acceptedAt)
  return statedMs > 0 && statedMs < nowMs ? statedMs : nowMs
}

/** @throws Refused STALE_EPOCH, FUTURE_EPOCH */
function ensureEpoch({ epoch }: Conversation, named: readonly bigint[]): void {
  if (named.some((one) => one < epoch)) throw new Refused("STALE_EPOCH")
  if (named.some((one) => one > epoch)) throw new Refused("FUTURE_EPOCH")
}
