import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import { conversationAfter } from "@signet/kernel/messaging/after"
import { type AppendDecision, attemptOf, decideAppend, decideReplay } from "@signet/kernel/messaging/append"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import { equalBytes, hex } from "@signet/kernel/messaging/bytes"
import { withLeased } from "@signet/kernel/messaging/directive"
import { withReport } from "@signet/kernel/messaging/fork"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { AppendAnswer, AppendOutcome, Conversations } from "@signet/kernel/messaging/ports"
import type { Conversation, Cursor, Envelope, Leaf } from "@signet/kernel/messaging/records"
import type { VerifiedAppend, VerifiedCommit } from "@signet/kernel/messaging/verified"
import type { ModelWelcomes } from "./welcomes.ts"

interface Span {
  readonly deviceId: DeviceId
  readonly fromSeq: bigint
  toSeq: bigint | null
}

/** What is kept of one conversation. */
export interface Kept {
  conversation: Conversation
  readonly by: { readonly deviceId: DeviceId; readonly idempotencyKey: Uint8Array; readonly requestHash: Uint8Array }
  readonly log: Envelope[]
  readonly spans: Span[]
  readonly cursors: Map<DeviceId, Cursor>
  readonly seenAtMs: Map<DeviceId, number>
  readonly trees: Map<string, Uint8Array>
  groupInfo: { bytes: Uint8Array; epoch: bigint; treeHash: Uint8Array | null } | undefined
}

export interface ModelConversations extends Conversations {
  /** Everything, for the invariants. */
  readonly all: ReadonlyMap<ConversationId, Kept>
  /** Copies what is stored now. @returns Puts the copy in place of what is stored then. */
  backUp(): () => void
}

type Decided = Extract<AppendDecision, { is: "append" }>
const noCursor: Cursor = { processedSeq: 0n, processedEpoch: 0n }
const max = (a: bigint, b: bigint) => (a > b ? a : b)

/** The store of conversations, in memory. What may be done is decided by the kernel, as in every store. */
export function modelConversations(welcomes: ModelWelcomes): ModelConversations {
  const all = new Map<ConversationId, Kept>()
  const there = (id: ConversationId): Kept => {
    const kept = all.get(id)
    if (kept === undefined) throw new Error("there is no such conversation")
    return kept
  }
  const hasLeaf = ({ spans }: Kept, deviceId: DeviceId) =>
    spans.some((span) => span.deviceId === deviceId && span.toSeq === null)
  const isOf = (kept: Kept, { deviceId, userId }: { deviceId: DeviceId; userId: string }) =>
    hasLeaf(kept, deviceId) || (kept.conversation.epoch === 0n && kept.conversation.userIds.some((id) => id === userId))
  const isUnjoined = (kept: Kept, { deviceId, userId }: { deviceId: DeviceId; userId: string }) =>
    kept.conversation.status === "ACTIVE" &&
    kept.conversation.roster.some((leaf) => leaf.userId === userId) &&
    !hasLeaf(kept, deviceId)
  return {
    all,
    backUp() {
      const copy = [...all].map(([id, kept]) => [id, copyOf(kept)] as const)
      return () => {
        all.clear()
        for (const [id, kept] of copy) all.set(id, copyOf(kept))
      }
    },
    async create(conversation, by) {
      const found = [...all.values()].find((kept) => isSame(kept, conversation, by))
      if (found === undefined) {
        all.set(conversation.id, {
          conversation,
          by,
          log: [],
          spans: [],
          cursors: new Map(),
          seenAtMs: new Map(),
          trees: new Map(),
          groupInfo: undefined,
        })
        return { is: "created", conversation }
      }
      const isOther = conversation.kind === "GROUP" && !equalBytes(found.by.requestHash, by.requestHash)
      return isOther ? { is: "mismatch" } : { is: "there", conversation: found.conversation }
    },
    find: async (id) => all.get(id)?.conversation,
    async findSeen(id, deviceId, key) {
      const kept = all.get(id)
      if (kept === undefined) return undefined
      const { conversation, log, cursors } = kept
      const before = log.find(
        (one) => key !== undefined && one.senderDeviceId === deviceId && equalBytes(one.idempotencyKey, key),
      )
      return { conversation, cursor: cursors.get(deviceId) ?? noCursor, answered: before && answered(before) }
    },
    list: async (of, { size, before }) =>
      [...all.values()]
        .filter((kept) => (of.isUnjoined === true ? isUnjoined(kept, of) : isOf(kept, of)))
        .filter((kept) => before === null || kept.conversation.id < before.id)
        .toReversed()
        .slice(0, size)
        .map(({ conversation, cursors }) => ({
          conversation: { ...conversation, roster: [] },
          cursor: cursors.get(of.deviceId) ?? noCursor,
        })),
    memberUsers: async (of, { size, after, only }) =>
      [...all.values()]
        .filter((kept) => isOf(kept, of))
        .map(({ conversation: { id, headSeq, roster } }) => ({
          conversationId: id,
          headSeq,
          userIds: [...new Set(roster.map(({ userId }) => userId))],
        }))
        .filter(({ conversationId: id }) => (after === null || id > after) && (only === null || id === only))
        .sort((a, b) => (a.conversationId < b.conversationId ? -1 : 1))
        .slice(0, size),
    logProgress: async (deviceId, ids) =>
      [...all.values()]
        .filter(({ conversation }) => ids.includes(conversation.id))
        .toReversed()
        .map(({ conversation: { id, headSeq, directives }, cursors }) => ({
          conversationId: id,
          headSeq,
          processedSeq: (cursors.get(deviceId) ?? noCursor).processedSeq,
          hasDirectives: directives.length > 0,
        })),
    async append(append, sign, nowMs) {
      const kept = there(append.conversationId)
      const decision = decideAppend(kept.conversation, attemptOf(append), nowMs)
      const replay = replayOf(kept, append)
      if (replay !== undefined) return replay
      if (decision.is !== "append") return { is: "refused", decision, conversation: kept.conversation }
      return write(kept, append, decision, sign)
    },
    commitOf: async (id, epoch) => there(id).log.find((one) => one.kind === "COMMIT" && one.epoch === epoch),
    async messages(id, afterSeq, { limit }) {
      const { log, conversation } = there(id)
      const envelopes = log.filter(({ seq }) => seq > afterSeq).slice(0, limit)
      return { envelopes, headSeq: conversation.headSeq, firstSeq: conversation.firstSeq }
    },
    async membershipSpan(id, deviceId, afterSeq) {
      const own = there(id).spans.filter((span) => span.deviceId === deviceId)
      return own.find(({ toSeq }) => toSeq === null || toSeq > afterSeq) ?? own.at(-1)
    },
    async ack(id, deviceId, { processedSeq, processedEpoch }) {
      const { conversation, cursors } = there(id)
      if (processedSeq > conversation.headSeq || processedEpoch > conversation.epoch) return "beyond"
      const before = cursors.get(deviceId) ?? noCursor
      const cursor = {
        processedSeq: max(before.processedSeq, processedSeq),
        processedEpoch: max(before.processedEpoch, processedEpoch),
      }
      cursors.set(deviceId, cursor)
      return cursor
    },
    async touch(id, deviceId, nowMs) {
      const kept = there(id)
      if (!kept.conversation.roster.some((leaf) => leaf.deviceId === deviceId)) return
      kept.seenAtMs.set(deviceId, nowMs)
    },
    async online(id, sinceMs) {
      const { conversation, seenAtMs } = there(id)
      return conversation.roster.filter(({ deviceId }) => (seenAtMs.get(deviceId) ?? 0) >= sinceMs)
    },
    groupInfo: async (id) => there(id).groupInfo,
    async tree(id, hash, offset) {
      const bytes = there(id).trees.get(hex(hash))
      return bytes && { chunk: bytes.slice(offset, offset + maxBytes.treeChunk), size: bytes.length }
    },
    async decideDirective(id, decide) {
      const kept = all.get(id)
      if (kept === undefined) return undefined
      const { conversation: found } = kept
      const decision = decide(found)
      if (decision.is === "close") kept.conversation = { ...found, status: "CLOSED" }
      if (decision.is === "issue") {
        kept.conversation = { ...found, directives: [...found.directives, decision.directive] }
      }
      return { decision, conversation: kept.conversation }
    },
    async leaseDirective(id, decide) {
      const kept = all.get(id)
      if (kept === undefined) return undefined
      const { conversation: found } = kept
      const decision = decide(found)
      if (decision.is === "lease") {
        const { directive } = decision
        const directives = withLeased(found.directives, directive)
        kept.conversation = { ...found, directives }
      }
      return { decision, conversation: kept.conversation }
    },
    async reportFork(id, report, isFork) {
      const kept = all.get(id)
      if (kept === undefined) return undefined
      const { conversation: found } = kept
      const forkReports = withReport(found.forkReports, report)
      const isQuarantined = found.status === "ACTIVE" && isFork(found, forkReports)
      kept.conversation = { ...found, forkReports, status: isQuarantined ? "QUARANTINED" : found.status }
      return kept.conversation
    },
    withDevice: async (deviceId) =>
      [...all.values()]
        .filter(
          ({ conversation, spans }) =>
            conversation.status !== "CLOSED" && spans.some((span) => span.deviceId === deviceId && span.toSeq === null),
        )
        .map(({ conversation }) => conversation.id),
    prune: async () => 0,
  }

  function write(kept: Kept, append: VerifiedAppend, decision: Decided, sign: ReceiptSigner): AppendOutcome {
    const { conversation: before } = kept
    const { commit } = append
    const { seq, acceptedAtMs, nextEpoch } = decision
    const receipt =
      append.resubmitted?.receipt ??
      (commit &&
        sign({
          conversationId: before.id,
          mlsGroupId: commit.resetGroupId ?? before.mlsGroupId,
          epoch: append.epoch,
          seq,
          commitHash: append.contentHash,
          proofHash: commit.membership?.proofHash ?? null,
          groupInfoHash: commit.groupInfo?.hash ?? new Uint8Array(),
          treeBlobHash: commit.tree?.hash ?? null,
          previousReceiptHash: before.state?.receiptHash ?? null,
          acceptedAtMs,
          resultingStateTag: commit.state.stateTag,
        }))
    const after = conversationAfter(before, append, decision, receipt?.hash ?? new Uint8Array())
    const envelope: Envelope = {
      seq,
      epoch: append.epoch,
      kind: commit === null ? "APPLICATION" : "COMMIT",
      message: append.message,
      contentHash: append.contentHash,
      senderDeviceId: append.deviceId,
      acceptedAtMs,
      receipt: receipt?.bytes ?? null,
      idempotencyKey: append.idempotencyKey,
    }
    kept.log.push(envelope)
    kept.conversation = after.conversation
    if (commit !== null && receipt !== null) {
      writeLeaves(kept, before.roster, commit.roster, seq)
      const treeHash = commit.tree?.hash ?? null
      if (commit.groupInfo !== null) {
        kept.groupInfo = { bytes: commit.groupInfo.bytes, epoch: nextEpoch, treeHash }
      } else if (kept.groupInfo !== undefined) kept.groupInfo = { ...kept.groupInfo, treeHash: null }
      if (commit.tree !== null) kept.trees.set(hex(commit.tree.hash), commit.tree.bytes)
      writeWelcomes(before, append, commit, decision, receipt.bytes)
    }
    return {
      is: "appended",
      answer: answered(envelope).answer,
      conversation: after.conversation,
      directives: after.directives,
    }
  }

  function writeLeaves(kept: Kept, before: readonly Leaf[], roster: readonly Leaf[], seq: bigint): void {
    const isKept = (leaf: Leaf, of: readonly Leaf[]) =>
      of.some((one) => one.deviceId === leaf.deviceId && one.joinedEpoch === leaf.joinedEpoch)
    const gone = before.filter((leaf) => !isKept(leaf, roster)).map(({ deviceId }) => deviceId)
    for (const span of kept.spans) if (span.toSeq === null && gone.includes(span.deviceId)) span.toSeq = seq
    welcomes.voidOf(kept.conversation.id, gone)
    for (const { deviceId } of roster.filter((leaf) => !isKept(leaf, before))) {
      kept.spans.push({ deviceId, fromSeq: seq, toSeq: null })
    }
  }

  function writeWelcomes(
    { id, mlsGroupId, kind }: Conversation,
    { deviceId: adderDeviceId }: VerifiedAppend,
    { welcomes: split, membership, state, resetGroupId }: VerifiedCommit,
    { seq, nextEpoch, acceptedAtMs }: Decided,
    receipt: Uint8Array,
  ): void {
    if (membership === null || state.treeHash === null) return
    for (const one of split) {
      welcomes.put({
        ...one,
        conversationId: id,
        mlsGroupId: resetGroupId ?? mlsGroupId,
        conversationKind: kind,
        epoch: nextEpoch,
        commitSeq: seq,
        treeHash: state.treeHash,
        receipt,
        proof: membership.proof,
        adderDeviceId,
        status: "PENDING",
        consumedWithKey: null,
        createdAtMs: acceptedAtMs,
      })
    }
  }
}

/** Records are replaced, not changed, but for these. */
const copyOf = (kept: Kept): Kept => ({
  ...kept,
  log: [...kept.log],
  spans: kept.spans.map((span) => ({ ...span })),
  cursors: new Map(kept.cursors),
  seenAtMs: new Map(kept.seenAtMs),
  trees: new Map(kept.trees),
})

function answered(envelope: Envelope): { contentHash: Uint8Array; answer: AppendAnswer } {
  const { contentHash, seq, acceptedAtMs, receipt } = envelope
  const epoch = envelope.kind === "COMMIT" ? envelope.epoch + 1n : envelope.epoch
  return { contentHash, answer: { seq, epoch, acceptedAtMs, receipt } }
}

function replayOf({ log }: Kept, append: VerifiedAppend): AppendOutcome | undefined {
  const { deviceId, idempotencyKey, contentHash } = append
  const found =
    log.find((one) => one.senderDeviceId === deviceId && equalBytes(one.idempotencyKey, idempotencyKey)) ??
    log.find((one) => equalBytes(one.contentHash, contentHash))
  if (found === undefined) return undefined
  const { answer } = answered(found)
  return decideReplay(found, contentHash) === "mismatch" ? { is: "mismatch" } : { is: "replayed", answer }
}

function isSame({ conversation: found, by: made }: Kept, asked: Conversation, by: Kept["by"]): boolean {
  if (found.kind !== asked.kind) return false
  if (asked.kind === "GROUP") return made.deviceId === by.deviceId && equalBytes(made.idempotencyKey, by.idempotencyKey)
  return found.status !== "CLOSED" && found.userIds.toSorted().join() === asked.userIds.toSorted().join()
}
