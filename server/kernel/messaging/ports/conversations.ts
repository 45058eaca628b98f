// Store interfaces for conversations and the welcomes of their new members.
import type { AuditEvent } from "../../audit/event.ts"
import type { ConversationId, DeviceId, PrincipalId, WelcomeId } from "../../ids.ts"
import type { AppendDecision } from "../append.ts"
import type { ReceiptSigner } from "../authority.ts"
import type { DirectiveDecision, LeaseDecision } from "../directive.ts"
import type { LogProgress, MembershipSpan, MemberUsers } from "../listening.ts"
import type { Conversation, Cursor, Envelope, ForkReport, Place, WelcomeRecord } from "../records.ts"
import type { DirectiveOutcome, VerifiedAppend } from "../verified.ts"

/** A conversation with the caller's cursor. */
export interface SeenConversation {
  readonly conversation: Conversation
  readonly cursor: Cursor
}

export interface AppendAnswer {
  readonly seq: bigint
  /** The conversation's epoch after the append. */
  readonly epoch: bigint
  readonly acceptedAtMs: number
  readonly receipt: Uint8Array | null
}

export type AppendOutcome =
  | {
      readonly is: "appended"
      readonly answer: AppendAnswer
      /** For an application message the roster contains only the caller's leaf; the others were not read. */
      readonly conversation: Conversation
      readonly directives: readonly DirectiveOutcome[]
    }
  /** Already appended under this key or with this content: the same answer. Nothing was written. */
  | { readonly is: "replayed"; readonly answer: AppendAnswer }
  /** The key was used for other content. */
  | { readonly is: "mismatch" }
  /** The decision of `decideAppend` under the lock, with the conversation at that time. */
  | {
      readonly is: "refused"
      readonly decision: Exclude<AppendDecision, { readonly is: "append" }>
      readonly conversation: Conversation
    }

export interface Conversations {
  /**
   * Inserts a conversation. DIRECT: unless the two users already have one at the place that is not CLOSED. GROUP:
   * unless this device used the key before. Of two concurrent calls one inserts, and both return its conversation.
   *
   * @returns "there" for an existing conversation; "mismatch" if the key was used for another request; "full" if a user
   * has the maximum number of conversations.
   */
  create(
    conversation: Conversation,
    by: { deviceId: DeviceId; idempotencyKey: Uint8Array; requestHash: Uint8Array },
    audit: AuditEvent,
  ): Promise<{ is: "created" | "there"; conversation: Conversation } | { is: "mismatch" } | { is: "full" }>
  find(id: ConversationId): Promise<Conversation | undefined>
  /**
   * Returns what an append needs in one read: the conversation, the device's cursor, and the earlier answer for the
   * key.
   */
  findSeen(
    id: ConversationId,
    deviceId: DeviceId,
    idempotencyKey?: Uint8Array,
  ): Promise<
    (SeenConversation & { answered: { contentHash: Uint8Array; answer: AppendAnswer } | undefined }) | undefined
  >
  /**
   * Conversations in which the device has a leaf or, at epoch 0, that include its user. Newest first, with empty
   * rosters.
   */
  list(
    of: { deviceId: DeviceId; userId: PrincipalId; place: Place; isUnjoined?: boolean },
    page: { size: number; before: { createdAtMs: number; id: ConversationId } | null },
  ): Promise<readonly SeenConversation[]>
  /** The member users of the conversations of `list`, sorted by id; or only that of `only`, if `list` contains it. */
  memberUsers(
    of: { deviceId: DeviceId; userId: PrincipalId; place: Place },
    page: { size: number; after: ConversationId | null; only: ConversationId | null },
  ): Promise<readonly MemberUsers[]>
  /** The log progress of these conversations, newest first. */
  logProgress(deviceId: DeviceId, ids: readonly ConversationId[]): Promise<readonly LogProgress[]>
  /**
   * Appends a message: writes envelope, roster, epoch state, GroupInfo, tree, directives, fork reports, answer,
   * welcomes and hints atomically. Requires that key and content are new and that `decideAppend` agrees under the
   * conversation's lock.
   *
   * Between reading the head and writing, only the database is awaited: `sign` is synchronous. Welcomes that are stored
   * elsewhere are delivered from an outbox at least once, deduplicated by id.
   *
   * @param seen The conversation for which `decideAppend` accepted this application message. A store may append several
   * messages at once while their conversations' epochs and directives are unchanged.
   * @throws Refused STORAGE_FULL, UNAVAILABLE: retry with the same key to learn whether it was written.
   */
  append(
    append: VerifiedAppend,
    sign: ReceiptSigner,
    nowMs: number,
    audit: readonly AuditEvent[],
    seen?: Conversation,
  ): Promise<AppendOutcome>
  /** The commit that ended the epoch; undefined if it was pruned. */
  commitOf(id: ConversationId, epoch: bigint): Promise<Envelope | undefined>
  /**
   * Envelopes after the sequence number, in order and without gaps. Ends before the page's byte limit but contains at
   * least one.
   */
  messages(
    id: ConversationId,
    afterSeq: bigint,
    page: { limit: number; maxBytes: number },
  ): Promise<{ envelopes: readonly Envelope[]; headSeq: bigint; firstSeq: bigint }>
  /**
   * The sequence numbers of the commits that added and removed the device's leaf; toSeq is null while it is a member.
   * For a device with several memberships: the first one that had not ended at `afterSeq`, else the last.
   */
  membershipSpan(id: ConversationId, deviceId: DeviceId, afterSeq: bigint): Promise<MembershipSpan | undefined>
  /** Raises the cursor, never lowers it: of two concurrent calls the higher wins. "beyond" if the log is shorter. */
  ack(id: ConversationId, deviceId: DeviceId, cursor: Cursor): Promise<Cursor | "beyond">
  /** Records the time of a request of a member device, unless the recorded time is at most 10 seconds old. */
  touch(id: ConversationId, deviceId: DeviceId, nowMs: number): Promise<void>
  /** Member devices with a request since that time. */
  online(id: ConversationId, sinceMs: number): Promise<readonly { deviceId: DeviceId; userId: PrincipalId }[]>
  groupInfo(id: ConversationId): Promise<{ bytes: Uint8Array; epoch: bigint; treeHash: Uint8Array | null } | undefined>
  /** Returns at most 1 MiB from the offset. A tree is stored while a pending welcome or the current epoch names it. */
  tree(id: ConversationId, hash: Uint8Array, offset: number): Promise<{ chunk: Uint8Array; size: number } | undefined>
  /**
   * Issues a directive (an order to the members to remove a device or a user), or closes the conversation: runs the pure
   * decision under the conversation's lock and writes its result. Idempotent.
   */
  decideDirective(
    id: ConversationId,
    decide: (conversation: Conversation) => DirectiveDecision,
    audit: (decision: DirectiveDecision) => AuditEvent | null,
  ): Promise<{ decision: DirectiveDecision; conversation: Conversation } | undefined>
  /** Leases a directive to the device that will carry it out. Of two concurrent devices one gets the lease. */
  leaseDirective(
    id: ConversationId,
    decide: (conversation: Conversation) => LeaseDecision,
  ): Promise<{ decision: LeaseDecision; conversation: Conversation } | undefined>
  /** Adds the report, and quarantines the conversation if `isFork` returns true under the lock. */
  reportFork(
    id: ConversationId,
    report: ForkReport,
    isFork: (conversation: Conversation, reports: readonly ForkReport[]) => boolean,
    audit: (isQuarantined: boolean) => readonly AuditEvent[],
  ): Promise<Conversation | undefined>
  /** Ids of the conversations that are not CLOSED and have a leaf of the device, for the effects of a revocation. */
  withDevice(deviceId: DeviceId): Promise<readonly ConversationId[]>
  /** Deletes envelopes that are older than the retention time and behind every cursor, but never the newest commit. */
  prune(nowMs: number, limit: number): Promise<number>
}

export interface Welcomes {
  /** PENDING and unexpired welcomes, oldest first. Ends before the page's byte limit but contains at least one. */
  listPending(
    deviceId: DeviceId,
    nowMs: number,
    page: { size: number; maxBytes: number; after: { createdAtMs: number; id: WelcomeId } | null },
  ): Promise<readonly WelcomeRecord[]>
  /** Decides by `decideConsume` and erases the bytes. Of two concurrent calls with different keys one consumes. */
  consume(
    id: WelcomeId,
    by: { deviceId: DeviceId; key: Uint8Array },
    nowMs: number,
    audit: AuditEvent,
  ): Promise<WelcomeRecord | "NOT_FOUND" | "WELCOME_ALREADY_CONSUMED">
  /** A pending welcome of the device for the conversation. Its holder may read the tree. */
  findPending(deviceId: DeviceId, conversationId: ConversationId): Promise<WelcomeRecord | undefined>
  /** True if one of these packages has already added its owner to the conversation. */
  wereUsed(conversationId: ConversationId, keyPackageRefs: readonly Uint8Array[]): Promise<boolean>
  /** Erases the device's PENDING welcomes. Idempotent. */
  voidAll(deviceId: DeviceId): Promise<void>
}
