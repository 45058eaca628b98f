// Appends one message. Checks idempotency, permission, epoch and bytes, then calls the store, which repeats the checks
// of state under the conversation's lock.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext } from "@connectrpc/connect"
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { type AppendDecision, type Attempt, decideAppend, decideReplay } from "@signet/kernel/messaging/append"
import { addableByAnyone } from "@signet/kernel/messaging/block"
import { maxBytes } from "@signet/kernel/messaging/limits"
import { sees } from "@signet/kernel/messaging/membership"
import type { AppendAnswer } from "@signet/kernel/messaging/ports"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import { beforeReset, isOtherGroup } from "@signet/kernel/messaging/reset"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import type { AppendMessageRequest } from "@signet/proto/messaging/v1/conversation_service"
import { parseCommit } from "../../../../framing/commit.ts"
import { parseApplication } from "../../../../framing/message.ts"
import { deviceOf } from "../../../../serving/call/calling-device.ts"
import { counted } from "../../counted.ts"
import type { MessagingDeps } from "../../deps.ts"
import { type ConversationFacts, conversationEvent } from "../../events.ts"
import { schedulePushes } from "../../push/schedule-pushes.ts"
import { readMls, refusedFor } from "../../refusing.ts"
import { conversationIdOf, isAt, unresolved } from "../seen.ts"
import { eventsOf, hintsOf, removeRevoked, revokedOf, type Who } from "./after.ts"
import type { AddedLeaf } from "./change.ts"
import { expired } from "./credential.ts"
import { openFrame } from "./frame.ts"
import { appendRefusal } from "./outcome.ts"
import { loadTree } from "./tree.ts"
import { type JudgedCommit, verifyCommit } from "./verify-commit.ts"

/** @throws Refused what the contract lists of AppendMessage. */
export async function appendMessage(deps: MessagingDeps, context: HandlerContext, request: AppendMessageRequest) {
  const device = deviceOf(context)
  const message = messageOf(request)
  const contentHash = hash(message.kind === "COMMIT" ? "commit" : "content", message.bytes)
  await counted(deps, context, "messaging_append", { device: device.id })
  const id = conversationIdOf(request.conversationId)
  const opened = await deps.store.conversations.findSeen(id, device.id, request.idempotencyKey)
  if (opened === undefined || !isAt(opened.conversation, device)) throw unresolved()
  const { conversation, answered } = opened
  const replay = decideReplay(answered, contentHash)
  if (replay === "mismatch") throw new Refused("IDEMPOTENCY_MISMATCH")
  if (replay === "replay" && answered !== undefined) return answerShape(answered.answer)
  if (!sees(conversation, device.userId)) throw unresolved()
  if (message.kind === "COMMIT") await counted(deps, context, "messaging_commit", { device: device.id })

  const nowMs = deps.clock.nowMs()
  const unread: VerifiedAppend = {
    conversationId: id,
    deviceId: device.id,
    userId: device.userId,
    idempotencyKey: request.idempotencyKey,
    epoch: request.expectedEpoch,
    message: message.bytes,
    contentHash,
    commit: null,
    processedSeq: request.processedSeq,
  }
  const isOver =
    request.expectedEpoch < conversation.epoch ||
    (message.kind === "APPLICATION" && leafOf(conversation.roster, device.id) === undefined)
  const taken = isOver ? await earlierAppend(deps, message.kind, unread, nowMs) : null
  if (taken !== null) return answerShape(taken)
  const { judged, decided } = await judge(deps, conversation, device, request, nowMs)
  // Only verified commits count: others would use up the conversation's limit with invalid ones.
  if (judged !== null) await counted(deps, context, "messaging_commit", { conversation: id })
  const append: VerifiedAppend = { ...unread, commit: judged?.verified ?? null }
  const event = (facts: ConversationFacts) => conversationEvent(deps, context, conversation, nowMs, facts)
  const audit = judged === null ? [] : eventsOf(conversation, judged, decided, event)
  const seen = judged === null ? conversation : undefined
  const outcome = await deps.store.conversations.append(append, deps.signReceipt, nowMs, audit, seen)
  switch (outcome.is) {
    case "replayed":
      return answerShape(outcome.answer)
    case "mismatch":
      throw new Refused("IDEMPOTENCY_MISMATCH")
    case "refused":
      throw await appendRefusal(deps, outcome.conversation, outcome.decision, request.expectedEpoch, device.id)
    case "appended":
      deps.wakeups.publish(hintsOf(outcome, judged))
      await schedulePushes(deps, device, id, judged && joined(device, judged))
      await removeRevoked(deps, outcome.conversation, joined(device, judged))
      return answerShape(outcome.answer)
  }
}

/**
 * The earlier append of this message, of a passed epoch or by a device without a leaf, and under another key; or null.
 * Its answer may have been lost: a refusal would make the client send the message twice.
 */
async function earlierAppend(
  { store, signReceipt }: MessagingDeps,
  kind: Attempt["kind"],
  append: VerifiedAppend,
  nowMs: number,
): Promise<AppendAnswer | null> {
  if (kind === "APPLICATION") {
    // A passed epoch never returns, and the store refuses a device without a leaf, so this call appends nothing.
    const outcome = await store.conversations.append(append, signReceipt, nowMs, [])
    return outcome.is === "replayed" ? outcome.answer : null
  }
  const winner = await store.conversations.commitOf(append.conversationId, append.epoch)
  if (winner === undefined || !equalBytes(winner.contentHash, append.contentHash)) return null
  const { seq, epoch, acceptedAtMs, receipt } = winner
  return { seq, epoch: epoch + 1n, acceptedAtMs, receipt }
}

type Decided = Extract<AppendDecision, { is: "append" }>

/** Verifies the bytes. @throws Refused */
async function judge(
  deps: MessagingDeps,
  conversation: Conversation,
  device: MessagingDevice,
  request: AppendMessageRequest,
  nowMs: number,
): Promise<{ judged: JudgedCommit | null; decided: Decided }> {
  const { payload, expectedEpoch } = request
  const attempt: Attempt = {
    kind: payload.case === "commit" ? "COMMIT" : "APPLICATION",
    deviceId: device.id,
    expectedEpoch,
    processedSeq: request.processedSeq,
  }
  const ensure = async (more: Partial<Attempt> = {}) => {
    const decision = decideAppend(conversation, { ...attempt, ...more }, nowMs)
    if (decision.is === "append") return decision
    throw await appendRefusal(deps, conversation, decision, expectedEpoch, device.id)
  }
  // Before the bytes are parsed: most refused appends end here.
  await ensure()
  if (nowMs >= device.expiresAtMs) throw expired()
  if (payload.case !== "commit") {
    const bytes = payload.value ?? new Uint8Array()
    const application = readMls(["application_message_bytes", maxBytes.application], () => parseApplication(bytes))
    openFrame(conversation, application, "APPLICATION")
    return { judged: null, decided: await ensure({ framedEpoch: application.epoch }) }
  }
  const commit = readMls(["commit_bytes", maxBytes.commit], () => parseCommit(payload.value.commit))
  const isReset =
    conversation.kind === "DIRECT" && conversation.epoch > 0n && isOtherGroup(conversation, commit.groupId)
  const base = isReset ? beforeReset(conversation, commit.groupId) : conversation
  const aad = openFrame(base, commit, "COMMIT")
  await ensure({ framedEpoch: commit.epoch, isReset })
  const verified = verifyCommit(
    {
      conversation: base,
      begins: isReset ? "reset" : conversation.epoch === 0n ? "create" : null,
      device,
      issuerKeys: deps.issuerKeys(),
      verify: deps.verify,
      nowMs,
      tree: isReset ? undefined : await loadTree(deps, conversation),
      newWelcomeId: () => newId("wel", nowMs, deps.random.bytes(10)),
    },
    { commit, aad },
    payload.value,
  )
  // A reset notifies every member of the replaced group, also those in the new group.
  const judged = isReset ? { ...verified, removed: conversation.roster } : verified
  const { membership, renewsLeaf } = judged.verified
  const decided = await ensure({ framedEpoch: commit.epoch, membership, renewsLeaf, isReset })
  await ensureUnused(deps, conversation, judged.added)
  await ensureAddable(deps, base, device, judged.added)
  // A device that was revoked after its package was claimed is not added.
  const [revoked] = await revokedOf(deps, conversation, judged.added)
  if (revoked !== undefined) throw refusedFor("CREDENTIAL_REFUSED", "CRED_REVOKED")
  return { judged, decided }
}

/**
 * Refuses reused key packages. A claim is answered for longer than its packages are usable: the owner of a used one has
 * deleted its private key. Only a last resort may be reused. The result holds under the lock, because only a commit
 * uses a package.
 */
async function ensureUnused(
  { store }: MessagingDeps,
  { id }: Conversation,
  added: readonly AddedLeaf[],
): Promise<void> {
  const once = added.filter(({ keyPackage }) => !keyPackage.lastResort)
  if (once.length === 0) return
  const refs = once.map(({ keyPackageRef }) => keyPackageRef)
  if (await store.welcomes.wereUsed(id, refs)) throw refusedFor("KEY_PACKAGE_NOT_CLAIMED", "KEY_PACKAGE_USED")
}

/** Refuses devices of users who blocked the caller after the claim. The caller's next claim gets no package of them. */
async function ensureAddable(
  { store }: MessagingDeps,
  conversation: Conversation,
  { userId, appId, tenantId }: MessagingDevice,
  added: readonly AddedLeaf[],
): Promise<void> {
  const own = [userId, ...addableByAnyone(conversation)]
  const others = [...new Set(added.map((leaf) => leaf.userId))].filter((id) => !own.includes(id))
  const blockers = await store.blocks.blockersOf(userId, others, { appId, tenantId })
  // The code of an expired claim: the refusal must not reveal the block.
  if (blockers.length > 0) throw refusedFor("KEY_PACKAGE_NOT_CLAIMED", "TICKET_EXPIRED")
}

/** The devices that the commit makes members, with the one that begins a group: no Add names it. */
function joined({ id: deviceId, userId }: MessagingDevice, judged: JudgedCommit | null): readonly Who[] {
  if (judged === null) return []
  const { added, verified } = judged
  const begins = verified.resetGroupId !== null || verified.membership?.op === "CREATE"
  return begins ? [{ deviceId, userId }, ...added] : added
}

function messageOf({ payload }: AppendMessageRequest): { kind: Attempt["kind"]; bytes: Uint8Array } {
  if (payload.case === "commit") return { kind: "COMMIT", bytes: payload.value.commit }
  return { kind: "APPLICATION", bytes: payload.value ?? new Uint8Array() }
}

const answerShape = ({ seq, epoch, acceptedAtMs, receipt }: AppendAnswer) => ({
  seq,
  epoch,
  acceptedAt: timestampFromMs(acceptedAtMs),
  receipt: receipt ?? new Uint8Array(),
})
