// What the messaging service keeps, as the rules see it. Times are milliseconds since the Unix epoch; null means never
// or none. Epochs and places in a log are bigints, as on the wire.
import type {
  AppId,
  AttachmentId,
  ClaimId,
  ConversationId,
  DeviceId,
  DirectiveId,
  PrincipalId,
  TenantId,
  WelcomeId,
} from "../ids.ts"

/** Where users, devices and conversations are: none of them meets one of another place. */
export interface Place {
  readonly appId: AppId
  readonly tenantId: TenantId | null
}

/** A device, kept by the auth service. */
export interface MessagingDevice extends Place {
  readonly id: DeviceId
  readonly userId: PrincipalId
  readonly status: "ACTIVE" | "REVOKED"
  /** The public key of its leaves and proofs: 32 bytes. No two devices ever have the same. */
  readonly leafKey: Uint8Array
  /** The key before the last renewal, while its credential has not expired; proofs under it are still taken. */
  readonly previousKey: { readonly leafKey: Uint8Array; readonly expiresAtMs: number } | null
  /** SignedBytesV1 of the newest DeviceCredentialBodyV1, and its hash. */
  readonly credential: Uint8Array
  readonly credentialHash: Uint8Array
  readonly expiresAtMs: number
  /** What it said it runs on. */
  readonly platform: string
  readonly createdAtMs: number
  /** Of its entry in the list. */
  readonly changedAtMs: number
  readonly revokedAtMs: number | null
}

/** One version of a user's device list. */
export interface SignedDeviceList {
  readonly version: bigint
  readonly bytes: Uint8Array
  /** H("device-list", bytes): what the next one names. */
  readonly hash: Uint8Array
}

export interface KeyPackageRecord {
  /** KeyPackageRef: 32 bytes, never seen twice. */
  readonly ref: Uint8Array
  /** The HPKE init key: 32 bytes, never seen twice, also not after the package is gone. */
  readonly initKey: Uint8Array
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly credentialHash: Uint8Array
  /** The MLSMessage as it was uploaded. */
  readonly bytes: Uint8Array
  readonly isLastResort: boolean
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly status: "AVAILABLE" | "CLAIMED" | "RETIRED"
}

/** What one claim gave; the same for the same id. */
export interface ClaimRecord {
  readonly id: ClaimId
  readonly requesterDeviceId: DeviceId
  readonly conversationId: ConversationId
  /** SHA-256 over the targets: another call under this id is told apart by it. */
  readonly requestHash: Uint8Array
  readonly packages: readonly KeyPackageRecord[]
  readonly withoutDeviceIds: readonly DeviceId[]
  readonly claimedAtMs: number
}

/** A leaf of a conversation's group, from public framing. */
export interface Leaf {
  readonly leafIndex: number
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly credentialHash: Uint8Array
  readonly joinedEpoch: bigint
}

export interface Directive {
  readonly id: DirectiveId
  readonly kind: "REVOCATION" | "LEAVE" | "REJOIN"
  /** REMOVED: a REJOIN of which the first half is done. */
  readonly status: "OPEN" | "REMOVED" | "DONE"
  readonly userId: PrincipalId
  /** Null: every device of the user. */
  readonly deviceId: DeviceId | null
  readonly issuedAtMs: number
  readonly lease: { readonly deviceId: DeviceId; readonly untilMs: number } | null
}

export interface ForkReport {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly epoch: bigint
  readonly seq: bigint
  readonly fault: "COMMIT_UNPROCESSABLE" | "STATE_TAG_MISMATCH" | "RECEIPT_INVALID" | "MEMBERSHIP_INVALID"
  /** What the device came to; null for nothing. */
  readonly stateTag: Uint8Array | null
  readonly reportedAtMs: number
}

/** A conversation as it stands. All of it changes under one lock. */
export interface Conversation extends Place {
  readonly id: ConversationId
  /** The id's 16 bytes, then 16 random ones. */
  readonly mlsGroupId: Uint8Array
  readonly kind: "DIRECT" | "GROUP"
  readonly status: "ACTIVE" | "QUARANTINED" | "CLOSED"
  readonly creatorUserId: PrincipalId
  /** DIRECT: its two users, for good. GROUP: those it was made with, of use until the first commit. */
  readonly userIds: readonly PrincipalId[]
  readonly epoch: bigint
  readonly headSeq: bigint
  /** The first place that is still kept, 1 before anything was pruned. */
  readonly firstSeq: bigint
  /** Of the newest envelope; accepted times never go back. */
  readonly headAtMs: number
  /** What the newest commit led to; null at epoch 0. */
  readonly state: EpochState | null
  readonly roster: readonly Leaf[]
  /** Those that are not DONE, oldest first. */
  readonly directives: readonly Directive[]
  /** Reports that count: of the state that members are in. */
  readonly forkReports: readonly ForkReport[]
  /** When a member device last called, to within 10 seconds. */
  readonly memberOnlineAtMs: number | null
  readonly maxLeaves: number
  readonly createdAtMs: number
}

/** What is kept of an epoch to check the commit that ends it. */
export interface EpochState {
  /** H("confirmation-tag", …). */
  readonly stateTag: Uint8Array
  /** H("commit-receipt", newest receipt). */
  readonly receiptHash: Uint8Array
  /** The encoded GroupContext: commits of the epoch are signed with it (RFC 9420 section 6.1). */
  readonly groupContext: Uint8Array
  /** RFC 9420 section 8.2. */
  readonly interimTranscriptHash: Uint8Array
  /** H("tree-blob", tree); null when the last committer handed none in. */
  readonly treeHash: Uint8Array | null
}

export interface Envelope {
  readonly seq: bigint
  readonly epoch: bigint
  readonly kind: "APPLICATION" | "COMMIT"
  readonly message: Uint8Array
  readonly contentHash: Uint8Array
  readonly senderDeviceId: DeviceId
  readonly acceptedAtMs: number
  /** Of commits. */
  readonly receipt: Uint8Array | null
  readonly idempotencyKey: Uint8Array
}

export interface Cursor {
  readonly processedSeq: bigint
  readonly processedEpoch: bigint
}

export interface WelcomeRecord {
  readonly id: WelcomeId
  readonly deviceId: DeviceId
  readonly conversationId: ConversationId
  readonly mlsGroupId: Uint8Array
  readonly conversationKind: Conversation["kind"]
  readonly epoch: bigint
  readonly commitSeq: bigint
  readonly keyPackageRef: Uint8Array
  /** Empty once it was consumed or is void. */
  readonly welcome: Uint8Array
  readonly treeHash: Uint8Array
  readonly receipt: Uint8Array
  readonly proof: Uint8Array
  readonly adderDeviceId: DeviceId
  readonly status: "PENDING" | "CONSUMED" | "VOID"
  readonly consumedWithKey: Uint8Array | null
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

export interface AttachmentRecord {
  readonly id: AttachmentId
  readonly conversationId: ConversationId
  readonly ownerDeviceId: DeviceId
  readonly ownerUserId: PrincipalId
  readonly status: "UPLOADING" | "COMPLETE" | "DELETED"
  readonly size: number
  readonly sha256: Uint8Array
  readonly partSize: number
  /** The indexes of the parts that are there, ascending. */
  readonly parts: readonly number[]
  readonly idempotencyKey: Uint8Array
  readonly createdAtMs: number
  readonly expiresAtMs: number
}
