// The messaging service's store. A backend may be a database, or objects of which none writes another, so every method
// is atomic on its own, and none takes a callback that waits. What needs two of them is done in an order that may stop
// anywhere and be done again: each method says what a retry and a race give.
import type { AuditEvent } from "../audit/event.ts"
import type { AttachmentId, ClaimId, ConversationId, DeviceId, PrincipalId, SessionId, WelcomeId } from "../ids.ts"
import type { SessionState } from "../session/session.ts"
import type { AppendDecision } from "./append.ts"
import type { ReceiptSigner } from "./authority.ts"
import type { DirectiveDecision, LeaseDecision } from "./directive.ts"
import type { Inventory } from "./key-package.ts"
import type { Audience, Standing } from "./listening.ts"
import type { ClaimTargets } from "./membership.ts"
import type {
  AttachmentRecord,
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
 * What the messaging service asks the auth service about people. In one program over its store, else over RPC.
 *
 * Every method throws Refused UNAVAILABLE when the auth service does not answer.
 */
export interface MessagingAccounts {
  /** Those of them who are active users with an active membership of the place, in no order. */
  activeUsers(ids: readonly PrincipalId[], place: Place): Promise<readonly PrincipalId[]>
  findSession(id: SessionId): Promise<MessagingSession | undefined>
  /** Keeps the events when it resolves. */
  audit(events: readonly AuditEvent[]): Promise<void>
}

export interface MessagingSession {
  /** As it is at this moment. */
  readonly state: SessionState
  readonly boundDeviceId: DeviceId | null
}

/**
 * All audit events that a method is handed are appended with what it does, and not when it does nothing. What writes is
 * Refused PLACE_HELD where the place is not open (moving.ts), but for `touch`, which does nothing then, and proof nonces.
 */
export interface MessagingStore {
  readonly devices: Devices
  readonly keyPackages: KeyPackages
  readonly conversations: Conversations
  readonly welcomes: Welcomes
  readonly attachments: Attachments
  readonly proofNonces: ProofNonces
}

export interface Devices {
  /**
   * @param at Where it is looked for: tells one that is not there from a place that is not served here.
   * @throws Refused PLACE_HELD where its place is being filled, or is served elsewhere.
   */
  find(id: DeviceId, at?: Place): Promise<MessagingDevice | undefined>
  /** The device that has, or ever had, this leaf key, of whatever user. */
  findByKey(leafKey: Uint8Array): Promise<MessagingDevice | undefined>
  /** All devices of the user there, newest first, and the newest list: both as of one moment. */
  ofUser(
    userId: PrincipalId,
    place: Place,
  ): Promise<{ devices: readonly MessagingDevice[]; newest: SignedDeviceList | undefined }>
  /** ACTIVE devices of these users there. */
  activeOf(userIds: readonly PrincipalId[], place: Place): Promise<readonly MessagingDevice[]>
  /** Lists after that version, oldest first, without a gap. */
  lists(userId: PrincipalId, place: Place, afterVersion: bigint, limit: number): Promise<readonly SignedDeviceList[]>
  /**
   * Compares and swaps: writes the changed devices, the list and the session's binding when the newest list is still the
   * one before `list`, and remembers the revocations among them as effects that are due.
   *
   * @returns "lost" when another change was first, or the leaf key is taken by now: read again, decide again. Repeating
   *   a change that was made is "lost" too, and reading shows it.
   */
  change(of: DeviceChange): Promise<"done" | "lost">
  /** Binds one more session to a device that is there. Again is no error. */
  bindSession(sessionId: SessionId, deviceId: DeviceId, audit: AuditEvent): Promise<void>
  /** Revocations whose key packages, welcomes and conversations may not know of them yet; oldest first. */
  dueEffects(limit: number): Promise<readonly { deviceId: DeviceId; userId: PrincipalId }[]>
  /** Key packages are retired, welcomes void and directives issued: each again and again is no error. */
  effectsDone(deviceId: DeviceId): Promise<void>
}

export interface DeviceChange {
  readonly userId: PrincipalId
  readonly place: Place
  /** As they are from now on: inserted or replaced by id. */
  readonly devices: readonly MessagingDevice[]
  readonly list: SignedDeviceList
  readonly bind: { readonly sessionId: SessionId; readonly deviceId: DeviceId } | null
  /** Every session that is bound to one of these is ended, but the one that is bound now. */
  readonly revoked: readonly DeviceId[]
  readonly nowMs: number
  readonly audit: readonly AuditEvent[]
}

export interface KeyPackages {
  /**
   * Adds all of them or none. Those that are there already with the same bytes and device are left as they are, whatever
   * became of them: repeating an upload is no error. A last resort retires the one before.
   */
  upload(
    packages: readonly KeyPackageRecord[],
    nowMs: number,
  ): Promise<{ is: "done"; inventory: Inventory } | { is: "duplicate" } | { is: "full"; inventory: Inventory }>
  /**
   * Claims one package for each active device of the targets but the requester's, by the rule of `chooseKeyPackage`. Two
   * claims never get the same package, the last resort excepted. The same id and request give the same record, for
   * good; an id that was used for another request gives "mismatch".
   */
  claim(
    of: {
      id: ClaimId
      requester: { deviceId: DeviceId; userId: PrincipalId }
      conversationId: ConversationId
      targets: ClaimTargets
      place: Place
      requestHash: Uint8Array
    },
    nowMs: number,
    audit: AuditEvent,
  ): Promise<{ is: "claimed"; claim: ClaimRecord; low: readonly DeviceId[] } | { is: "mismatch" }>
  inventory(deviceId: DeviceId, nowMs: number): Promise<Inventory>
  /** Retires what is AVAILABLE: those refs, or all. Again is no error. */
  retire(deviceId: DeviceId, refs: readonly Uint8Array[] | "all"): Promise<void>
}

/** A conversation with what belongs to the caller. */
export interface SeenConversation {
  readonly conversation: Conversation
  readonly cursor: Cursor
}

export interface AppendAnswer {
  readonly seq: bigint
  /** The conversation's epoch after it. */
  readonly epoch: bigint
  readonly acceptedAtMs: number
  readonly receipt: Uint8Array | null
}

export type AppendOutcome =
  | {
      readonly is: "appended"
      readonly answer: AppendAnswer
      /** Of an application message, its roster is the caller's leaf alone: nothing else was read. */
      readonly conversation: Conversation
      readonly directives: readonly DirectiveOutcome[]
    }
  /** Was appended before, under this key or with this content: the same answer. Nothing was written. */
  | { readonly is: "replayed"; readonly answer: AppendAnswer }
  /** The key was used for other content. */
  | { readonly is: "mismatch" }
  /** What `decideAppend` said under the lock, with the conversation as it is then. */
  | {
      readonly is: "refused"
      readonly decision: Exclude<AppendDecision, { readonly is: "append" }>
      readonly conversation: Conversation
    }

export interface Conversations {
  /**
   * Inserts a conversation. DIRECT: unless its two users have one there that is not CLOSED. GROUP: unless this device
   * used the key before. Two at once: one inserts, both get its.
   */
  create(
    conversation: Conversation,
    by: { deviceId: DeviceId; idempotencyKey: Uint8Array; requestHash: Uint8Array },
    audit: AuditEvent,
  ): Promise<{ is: "created" | "there"; conversation: Conversation } | { is: "mismatch" } | { is: "full" }>
  find(id: ConversationId): Promise<Conversation | undefined>
  /** With the cursor of the device, and the answer that was given for the key: what an append begins with, in one read. */
  open(
    id: ConversationId,
    deviceId: DeviceId,
    idempotencyKey?: Uint8Array,
  ): Promise<
    (SeenConversation & { answered: { contentHash: Uint8Array; answer: AppendAnswer } | undefined }) | undefined
  >
  /**
   * Conversations that the device has a leaf in, or, at epoch 0, that its user was made a part of; newest first, and
   * all with an empty roster.
   */
  list(
    of: { deviceId: DeviceId; userId: PrincipalId; place: Place },
    page: { size: number; before: { createdAtMs: number; id: ConversationId } | null },
  ): Promise<readonly SeenConversation[]>
  /** Of the conversations of `list`, by id; or of `only`, if it is one of them. */
  audiences(
    of: { deviceId: DeviceId; userId: PrincipalId; place: Place },
    page: { size: number; after: ConversationId | null; only: ConversationId | null },
  ): Promise<readonly Audience[]>
  /** Of all these conversations, newest first. */
  standings(deviceId: DeviceId, ids: readonly ConversationId[]): Promise<readonly Standing[]>
  /**
   * Writes envelope, roster, epoch state, GroupInfo, tree, directives, fork reports, answer, welcomes and hints, all in
   * one, when key and content are new and `decideAppend` says so under the conversation's lock. Between reading the head
   * and writing nothing is awaited but the database: `sign` answers at once. Welcomes that are kept elsewhere follow
   * from an outbox, at least once, found by their ids.
   *
   * @throws Refused STORAGE_FULL, UNAVAILABLE: nothing was written, or it was and the same key tells.
   */
  append(
    append: VerifiedAppend,
    sign: ReceiptSigner,
    nowMs: number,
    audit: readonly AuditEvent[],
  ): Promise<AppendOutcome>
  /** The commit that ended the epoch; undefined when it is not kept any more. */
  commitOf(id: ConversationId, epoch: bigint): Promise<Envelope | undefined>
  /** In order and without a gap, from after the place; ends before the page's bytes are too many, but has one at least. */
  messages(
    id: ConversationId,
    afterSeq: bigint,
    page: { limit: number; maxBytes: number },
  ): Promise<{ envelopes: readonly Envelope[]; headSeq: bigint; firstSeq: bigint }>
  /**
   * The place of the commit that the device's leaf came with, and of the one that it went with; null while it is in. Of
   * one that was in more than once, the first time that had not ended at that place, or else the last.
   */
  span(
    id: ConversationId,
    deviceId: DeviceId,
    afterSeq: bigint,
  ): Promise<{ fromSeq: bigint; toSeq: bigint | null } | undefined>
  /** Raises the cursor, and never lowers it: two at once leave the higher. "beyond" when the log is not that long. */
  ack(id: ConversationId, deviceId: DeviceId, cursor: Cursor): Promise<Cursor | "beyond">
  /** A member device called: raises `memberOnlineAtMs` and the device's own time, when they are over 10 seconds old. */
  touch(id: ConversationId, deviceId: DeviceId, nowMs: number): Promise<void>
  /** Member devices that called since then. */
  online(id: ConversationId, sinceMs: number): Promise<readonly { deviceId: DeviceId; userId: PrincipalId }[]>
  groupInfo(id: ConversationId): Promise<{ bytes: Uint8Array; epoch: bigint; treeHash: Uint8Array | null } | undefined>
  /** At most 1 MiB from the offset on. Trees are kept while a pending welcome or the current epoch names them. */
  tree(id: ConversationId, hash: Uint8Array, offset: number): Promise<{ chunk: Uint8Array; size: number } | undefined>
  /** Runs the pure decision on the conversation under its lock, and writes what it says. Again is no error. */
  direct(
    id: ConversationId,
    decide: (conversation: Conversation) => DirectiveDecision,
    audit: (decision: DirectiveDecision) => AuditEvent | null,
  ): Promise<{ decision: DirectiveDecision; conversation: Conversation } | undefined>
  /** As `direct`. Of two devices at once one gets the lease. */
  lease(
    id: ConversationId,
    decide: (conversation: Conversation) => LeaseDecision,
  ): Promise<{ decision: LeaseDecision; conversation: Conversation } | undefined>
  /** Adds the report, and quarantines the conversation when `isFork` says so under the lock. */
  reportFork(
    id: ConversationId,
    report: ForkReport,
    isFork: (conversation: Conversation, reports: readonly ForkReport[]) => boolean,
    audit: (isQuarantined: boolean) => readonly AuditEvent[],
  ): Promise<Conversation | undefined>
  /** Ids of those that are not CLOSED and have a leaf of the device: for the effects of a revocation. */
  withDevice(deviceId: DeviceId): Promise<readonly ConversationId[]>
  /** Removes envelopes that are older than the retention and behind every cursor, but never the newest commit. */
  prune(nowMs: number, limit: number): Promise<number>
}

export interface Welcomes {
  /** PENDING and not expired, oldest first; ends before the page's bytes are too many, but has one at least. */
  listPending(
    deviceId: DeviceId,
    nowMs: number,
    page: { size: number; maxBytes: number; after: { createdAtMs: number; id: WelcomeId } | null },
  ): Promise<readonly WelcomeRecord[]>
  /** Decides by `decideConsume` and erases the bytes. Of two at once with different keys one consumes. */
  consume(
    id: WelcomeId,
    by: { deviceId: DeviceId; key: Uint8Array },
    nowMs: number,
    audit: AuditEvent,
  ): Promise<WelcomeRecord | "NOT_FOUND" | "WELCOME_ALREADY_CONSUMED">
  /** A pending welcome of the device into the conversation: whoever has one may read the tree. */
  findPending(deviceId: DeviceId, conversationId: ConversationId): Promise<WelcomeRecord | undefined>
  /** Whether one of these packages has let its owner into the conversation before. */
  wereUsed(conversationId: ConversationId, keyPackageRefs: readonly Uint8Array[]): Promise<boolean>
  /** Erases what is PENDING. Again is no error. */
  voidAll(deviceId: DeviceId): Promise<void>
}

export interface Attachments {
  /** The device's for this key, if there is one; else inserts it. */
  create(record: AttachmentRecord): Promise<AttachmentRecord>
  find(id: AttachmentId): Promise<AttachmentRecord | undefined>
  /** The part is in the blob store. Again is no error. */
  addPart(id: AttachmentId, index: number): Promise<AttachmentRecord | undefined>
  /** UPLOADING becomes COMPLETE when every part is there. */
  complete(id: AttachmentId, expiresAtMs: number, audit: AuditEvent): Promise<AttachmentRecord | undefined>
  /** Becomes DELETED: its blobs are removed afterwards, by whoever lists it. Again is no error. */
  delete(id: AttachmentId, audit: AuditEvent): Promise<void>
  /** DELETED or expired: blobs to remove, then `forget`. */
  due(nowMs: number, limit: number): Promise<readonly AttachmentRecord[]>
  forget(id: AttachmentId): Promise<void>
}

export interface ProofNonces {
  /** Remembers a nonce of a device until then. False when it was there: a replay. */
  use(deviceId: DeviceId, nonce: Uint8Array, expiresAtMs: number): Promise<boolean>
}

/** Opaque bytes by key: parts of attachments. Keys are `[a-z0-9_/-]`, 128 characters at most. */
export interface BlobStore {
  /**
   * Keeps the bytes, durably when it resolves; replaces what is there.
   *
   * @throws Refused STORAGE_FULL, UNAVAILABLE.
   */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** Undefined when there is nothing. */
  get(key: string): Promise<Uint8Array | undefined>
  /** Bytes of what is there; undefined when there is nothing. */
  size(key: string): Promise<number | undefined>
  /** Again is no error. */
  delete(key: string): Promise<void>
  /** An address for exactly this, for some minutes; undefined where the store has none: then the bytes pass through. */
  presign(verb: "PUT" | "GET", key: string, size: number): Promise<string | undefined>
}
