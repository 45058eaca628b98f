// Records of the messaging service. Times are milliseconds since the Unix epoch; null means never or none. Epochs and
// sequence numbers are bigints, as on the wire.
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

/** An app, or one tenant of it: the scope of users, devices and conversations. No record belongs to two places. */
export interface Place {
  readonly appId: AppId
  readonly tenantId: TenantId | null
}

/** A device, stored by the auth service. */
export interface MessagingDevice extends Place {
  readonly id: DeviceId
  readonly userId: PrincipalId
  readonly status: "ACTIVE" | "REVOKED"
  /** The public key of its leaves and proofs: 32 bytes. Unique over all devices, past ones included. */
  readonly leafKey: Uint8Array
  /** The key before the last renewal, until its credential expires. It still verifies proofs. */
  readonly previousKey: { readonly leafKey: Uint8Array; readonly expiresAtMs: number } | null
  /** SignedBytesV1 of the newest DeviceCredentialBodyV1, and its hash. */
  readonly credential: Uint8Array
  readonly credentialHash: Uint8Array
  readonly expiresAtMs: number
  /** The platform that the device states. */
  readonly platform: string
  readonly createdAtMs: number
  /** When its entry in the device list last changed. */
  readonly changedAtMs: number
  readonly revokedAtMs: number | null
}

/** The users whom a user blocks at a place. */
export interface BlockList {
  /** The number of changes. */
  readonly version: bigint
  /** In the order of blocking. */
  readonly userIds: readonly PrincipalId[]
}

/** One version of a user's device list. */
export interface SignedDeviceList {
  readonly version: bigint
  readonly bytes: Uint8Array
  /** H("device-list", bytes), which the next version names. */
  readonly hash: Uint8Array
}

export interface KeyPackageRecord {
  /** KeyPackageRef: 32 bytes, never reused. */
  readonly ref: Uint8Array
  /** The HPKE init key: 32 bytes, never reused, even after the package is deleted. */
  readonly initKey: Uint8Array
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly credentialHash: Uint8Array
  /** The MLSMessage as uploaded. */
  readonly bytes: Uint8Array
  readonly isLastResort: boolean
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly status: "AVAILABLE" | "CLAIMED" | "RETIRED"
}

/** The result of a claim; every call with its id returns it. */
export interface ClaimRecord {
  readonly id: ClaimId
  readonly requesterDeviceId: DeviceId
  readonly conversationId: ConversationId
  /** SHA-256 over the targets. Another request under this id has another hash. */
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
  /** REMOVED: a REJOIN whose removal is committed, or not necessary, and whose adding is not. */
  readonly status: "OPEN" | "REMOVED" | "DONE"
  readonly userId: PrincipalId
  /** Null: every device of the user. */
  readonly deviceId: DeviceId | null
  readonly issuedAtMs: number
  readonly lease: { readonly deviceId: DeviceId; readonly untilMs: number } | null
  /** Of a REJOIN: the device has read beyond the end of the log, so the service has lost envelopes. */
  readonly isBeyondLog?: true
}

export interface ForkReport {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly epoch: bigint
  readonly seq: bigint
  readonly fault: "COMMIT_UNPROCESSABLE" | "STATE_TAG_MISMATCH" | "RECEIPT_INVALID" | "MEMBERSHIP_INVALID"
  /** The state tag that the device computed; null if it computed none. */
  readonly stateTag: Uint8Array | null
  readonly reportedAtMs: number
}

/** The current state of a conversation. All of it changes under one lock. */
export interface Conversation extends Place {
  readonly id: ConversationId
  /** The id's 16 bytes, then 16 random bytes. */
  readonly mlsGroupId: Uint8Array
  readonly kind: "DIRECT" | "GROUP"
  readonly status: "ACTIVE" | "QUARANTINED" | "CLOSED"
  readonly creatorUserId: PrincipalId
  /** DIRECT: its two users, permanently. GROUP: the users that it was created with, used until the first commit. */
  readonly userIds: readonly PrincipalId[]
  readonly epoch: bigint
  readonly headSeq: bigint
  /** The first stored sequence number; 1 before anything was pruned. */
  readonly firstSeq: bigint
  /** Acceptance time of the newest envelope. Never decreases. */
  readonly headAtMs: number
  /** State after the newest commit; null at epoch 0. */
  readonly state: EpochState | null
  readonly roster: readonly Leaf[]
  /** Directives that are not DONE, oldest first. */
  readonly directives: readonly Directive[]
  /** Open reports about the current state of the members. */
  readonly forkReports: readonly ForkReport[]
  readonly maxLeaves: number
  readonly createdAtMs: number
}

/** State of an epoch that is needed to verify the commit that ends it. */
export interface EpochState {
  /** H("confirmation-tag", …). */
  readonly stateTag: Uint8Array
  /** H("commit-receipt", newest receipt). */
  readonly receiptHash: Uint8Array
  /** The encoded GroupContext, which commits of the epoch sign (RFC 9420 section 6.1). */
  readonly groupContext: Uint8Array
  /** RFC 9420 section 8.2. */
  readonly interimTranscriptHash: Uint8Array
  /** H("tree-blob", tree); null if the last committer uploaded none. */
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
  /** Only for commits. */
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
  /** Empty after it was consumed or voided. */
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
  /** Indexes of the stored parts, ascending. */
  readonly parts: readonly number[]
  readonly idempotencyKey: Uint8Array
  readonly createdAtMs: number
  readonly expiresAtMs: number
}
