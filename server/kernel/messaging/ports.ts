// Store interfaces of the messaging service. A backend is a database, or Durable Objects, which cannot be written in one
// transaction. So every method is atomic by itself and takes no asynchronous callback. An operation that needs two
// methods calls them in an order that can be interrupted and retried.
import type { AuditEvent } from "../audit/event.ts"
import type { AttachmentId, ClaimId, ConversationId, DeviceId, PrincipalId, SessionId, WelcomeId } from "../ids.ts"
import type { SessionState } from "../session/session.ts"
import type { AppendDecision } from "./append.ts"
import type { Archive, ArchiveChange, ArchiveDecision } from "./archive.ts"
import type { ReceiptSigner } from "./authority.ts"
import type { BlockChange } from "./block.ts"
import type { DirectiveDecision, LeaseDecision } from "./directive.ts"
import type { Inventory } from "./key-package.ts"
import type { LogProgress, MemberUsers } from "./listening.ts"
import type { ClaimTargets } from "./membership.ts"
import type {
  AttachmentRecord,
  BlockList,
  ClaimRecord,
  Conversation,
  Cursor,
  Envelope,
  ForkReport,
  KeyPackageRecord,
  MessagingDevice,
  Place,
  SignedDeviceList,
  WelcomeRecord,
} from "./records.ts"
import type { DirectiveOutcome, VerifiedAppend } from "./verified.ts"

/**
 * The messaging service's questions to the auth service about users: in process or over RPC.
 *
 * Every method throws Refused UNAVAILABLE if the auth service does not answer.
 */
export interface MessagingAccounts {
  /** The subset of active users with an active membership of the place, in no order. */
  activeUsers(ids: readonly PrincipalId[], place: Place): Promise<readonly PrincipalId[]>
  findSession(id: SessionId): Promise<MessagingSession | undefined>
  /** Resolves once the events are stored. */
  audit(events: readonly AuditEvent[]): Promise<void>
}

export interface MessagingSession {
  /** The current state. */
  readonly state: SessionState
  readonly boundDeviceId: DeviceId | null
}

/**
 * Audit events are appended in the same write as the change, and not if nothing changes. Writes are Refused PLACE_HELD
 * at a place that is not open (moving.ts). Exceptions: `touch` does nothing then, and proof nonces are always stored.
 */
export interface MessagingStore {
  readonly devices: Devices
  readonly keyPackages: KeyPackages
  readonly conversations: Conversations
  readonly welcomes: Welcomes
  readonly attachments: Attachments
  readonly proofNonces: ProofNonces
  readonly blocks: Blocks
  readonly archives: Archives
}

/** The archives of users. Chunks are in the blob store. */
export interface Archives {
  /** All archives of the user at the place, including those that are gone, oldest first. */
  ofUser(userId: PrincipalId, place: Place): Promise<readonly Archive[]>
  /** Changes the user's archives as `decideArchive` decides, under a lock. */
  change(
    of: OfArchives & { readonly change: ArchiveChange },
    nowMs: number,
    audit: AuditEvent | null,
  ): Promise<ArchiveDecision>
  /** Archives whose chunks are to be erased. A backend that erases them by itself returns none. */
  due(nowMs: number, limit: number): Promise<readonly (OfArchives & { readonly archive: Archive })[]>
  /** Deletes the record of an archive that is gone, after its chunks. Idempotent. */
  forget(of: OfArchives, id: string, nowMs: number): Promise<void>
}

interface OfArchives {
  readonly userId: PrincipalId
  readonly place: Place
}

export interface Blocks {
  /** The users whom the user blocks at the place. */
  ofUser(userId: PrincipalId, place: Place): Promise<BlockList>
  /**
   * Blocks or unblocks a user as `decideBlock` decides, under a lock of the list. A claim that begins after this call
   * has returned follows the change.
   *
   * @returns The list after the call; "full" if it has the maximum number of users.
   */
  change(
    of: { readonly userId: PrincipalId; readonly place: Place; readonly change: BlockChange },
    audit: AuditEvent,
  ): Promise<{ is: "done" | "there"; list: BlockList } | { is: "full" }>
  /** The subset of these users who block the user, in no order. */
  blockersOf(userId: PrincipalId, among: readonly PrincipalId[], place: Place): Promise<readonly PrincipalId[]>
}

export interface Devices {
  /**
   * @param at The expected place. It distinguishes an unknown device from a place that is not served here.
   * @throws Refused PLACE_HELD if the place is being filled or is served elsewhere.
   */
  find(id: DeviceId, at?: Place): Promise<MessagingDevice | undefined>
  /** The device, of any user, that has or had this leaf key. */
  findByKey(leafKey: Uint8Array): Promise<MessagingDevice | undefined>
  /** All devices of the user at the place, newest first, and the newest list, read at one instant. */
  ofUser(
    userId: PrincipalId,
    place: Place,
  ): Promise<{ devices: readonly MessagingDevice[]; newest: SignedDeviceList | undefined }>
  /** ACTIVE devices of these users at the place. */
  activeOf(userIds: readonly PrincipalId[], place: Place): Promise<readonly MessagingDevice[]>
  /** Lists after that version, oldest first, without gaps. */
  lists(userId: PrincipalId, place: Place, afterVersion: bigint, limit: number): Promise<readonly SignedDeviceList[]>
  /**
   * Compares and swaps: if the newest list is still the predecessor of `list`, writes the changed devices, the list and
   * the session's binding. Records revocations, whose effects `dueEffects` then lists.
   *
   * @returns "lost" if another change was first, if the leaf key belongs to another device, or if this change is complete
   * already: read and decide again.
   */
  change(of: DeviceChange): Promise<"done" | "lost">
  /** Binds another session to an existing device. Idempotent. */
  bindSession(sessionId: SessionId, deviceId: DeviceId, audit: AuditEvent): Promise<void>
  /** Revocations whose effects on key packages, welcomes and conversations may be incomplete; oldest first. */
  dueEffects(limit: number): Promise<readonly { deviceId: DeviceId; userId: PrincipalId }[]>
  /**
   * Marks the effects as complete: key packages retired, welcomes voided, directives issued. Each of these is
   * idempotent.
   */
  effectsDone(deviceId: DeviceId): Promise<void>
}

export interface DeviceChange {
  readonly userId: PrincipalId
  readonly place: Place
  /** Inserted, or replaced by id. */
  readonly devices: readonly MessagingDevice[]
  readonly list: SignedDeviceList
  readonly bind: { readonly sessionId: SessionId; readonly deviceId: DeviceId } | null
  /** Every session that is bound to one of these devices is ended, except the session of `bind`. */
  readonly revoked: readonly DeviceId[]
  readonly nowMs: number
  readonly audit: readonly AuditEvent[]
}

export interface KeyPackages {
  /**
   * Adds all packages or none. Packages that exist with the same bytes and device are left unchanged in any status, so
   * an upload can be retried. A new last resort retires the previous one.
   */
  upload(
    packages: readonly KeyPackageRecord[],
    nowMs: number,
  ): Promise<{ is: "done"; inventory: Inventory } | { is: "duplicate" } | { is: "full"; inventory: Inventory }>
  /**
   * Claims one package for each active device of the targets except the requester, chosen by `chooseKeyPackage`. A device
   * without an available package is left out; `low` names devices that should upload more.
   * Two claims never get the same package, except for a last resort. The same id and request always return the same
   * record; another request under the id returns "mismatch".
   * A device whose user blocks the requester is answered as one without a package, also if it was claimed before the
   * block.
   */
  claim(
    of: {
      id: ClaimId
      requester: { deviceId: DeviceId; userId: PrincipalId }
      conversationId: ConversationId
      targets: ClaimTargets
      /** Users whose packages the requester gets even if they block the requester. */
      addable: readonly PrincipalId[]
      place: Place
      requestHash: Uint8Array
    },
    nowMs: number,
    audit: AuditEvent,
  ): Promise<{ is: "claimed"; claim: ClaimRecord; low: readonly DeviceId[] } | { is: "mismatch" }>
  inventory(deviceId: DeviceId, nowMs: number): Promise<Inventory>
  /** Retires AVAILABLE packages: the given refs, or all. Idempotent. */
  retire(deviceId: DeviceId, refs: readonly Uint8Array[] | "all"): Promise<void>
}

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
   * @throws Refused STORAGE_FULL, UNAVAILABLE: retry with the same key to learn whether it was written.
   */
  append(
    append: VerifiedAppend,
    sign: ReceiptSigner,
    nowMs: number,
    audit: readonly AuditEvent[],
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
  membershipSpan(
    id: ConversationId,
    deviceId: DeviceId,
    afterSeq: bigint,
  ): Promise<{ fromSeq: bigint; toSeq: bigint | null } | undefined>
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

export interface Attachments {
  /** Returns the device's attachment for this key; inserts it if there is none. */
  create(record: AttachmentRecord): Promise<AttachmentRecord>
  find(id: AttachmentId): Promise<AttachmentRecord | undefined>
  /** Records that the part is in the blob store. Idempotent. */
  addPart(id: AttachmentId, index: number): Promise<AttachmentRecord | undefined>
  /** UPLOADING becomes COMPLETE if every part is stored. */
  complete(id: AttachmentId, expiresAtMs: number, audit: AuditEvent): Promise<AttachmentRecord | undefined>
  /** Sets DELETED; `due` then lists it so that its blobs are removed. Idempotent. */
  delete(id: AttachmentId, audit: AuditEvent): Promise<void>
  /** DELETED or expired attachments: remove their blobs, then call `forget`. */
  due(nowMs: number, limit: number): Promise<readonly AttachmentRecord[]>
  /** Erases the record of an attachment whose blobs were removed. Idempotent. */
  forget(id: AttachmentId): Promise<void>
}

export interface ProofNonces {
  /** Remembers a device's nonce until it expires. False if it is already stored: a replay. */
  use(deviceId: DeviceId, nonce: Uint8Array, expiresAtMs: number): Promise<boolean>
}

/** Opaque bytes by key: parts of attachments. Keys match `[a-z0-9_/-]` and have at most 128 characters. */
export interface BlobStore {
  /**
   * Stores the bytes, replacing existing ones. They are durable when it resolves.
   *
   * @throws Refused STORAGE_FULL, UNAVAILABLE.
   */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** Undefined if the key does not exist. */
  get(key: string): Promise<Uint8Array | undefined>
  /** Size in bytes; undefined if the key does not exist. */
  size(key: string): Promise<number | undefined>
  /** Idempotent. */
  delete(key: string): Promise<void>
  /**
   * A URL for this one request, valid for some minutes. Undefined if the store has none: the server then transfers the
   * bytes.
   */
  presign(verb: "PUT" | "GET", key: string, size: number): Promise<string | undefined>
}
