// The verified messages that handlers pass to the store: facts, and the original bytes.
import type { ConversationId, DeviceId, DirectiveId, PrincipalId, WelcomeId } from "../ids.ts"
import type { MembershipOp } from "./membership.ts"
import type { EpochState, Leaf } from "./records.ts"

/** A message with parsed framing whose sender is the caller. */
export interface VerifiedAppend {
  readonly conversationId: ConversationId
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  /** 16 bytes. */
  readonly idempotencyKey: Uint8Array
  /** The epoch of the message's framing, equal to the expected epoch of the request. */
  readonly epoch: bigint
  /** The MLSMessage as received. */
  readonly message: Uint8Array
  /** H("content", message); for a commit H("commit", message). */
  readonly contentHash: Uint8Array
  /** Null for an application message. */
  readonly commit: VerifiedCommit | null
  /** The caller has processed the log up to this sequence number. Default: 0. */
  readonly processedSeq?: bigint
  /** The position and the receipt that the envelope had before the service lost it; absent for a new message. */
  readonly resubmitted?: Resubmitted
}

export interface Resubmitted {
  readonly seq: bigint
  /** The verified receipt of a commit, which is stored again; null for an application message. */
  readonly receipt: { readonly bytes: Uint8Array; readonly hash: Uint8Array } | null
}

/**
 * A commit that was verified against the conversation at `epoch`: framing, signature, proof, credentials, roster,
 * GroupInfo, tree, welcome, tickets. The result holds if the epoch is unchanged under the lock.
 */
export interface VerifiedCommit {
  /** The id of the new group that a reset starts; null for a commit of the current group. */
  readonly resetGroupId: Uint8Array | null
  /** Null if the commit changes no members. */
  readonly membership: {
    readonly op: MembershipOp
    /** True if the proof was issued for a directive. */
    readonly isDirected: boolean
    readonly proof: Uint8Array
    /** H("membership-proof", proof). */
    readonly proofHash: Uint8Array
  } | null
  /** True if the commit replaces a former credential in the committer's leaf by the device's newest one. */
  readonly renewsLeaf: boolean
  readonly roster: readonly Leaf[]
  /** Null for a resubmitted commit: only its committer had it. */
  readonly groupInfo: { readonly bytes: Uint8Array; readonly hash: Uint8Array } | null
  readonly tree: { readonly bytes: Uint8Array; readonly hash: Uint8Array } | null
  /** The state of the next epoch. The store adds the receipt's hash. */
  readonly state: Omit<EpochState, "receiptHash">
  /** One for each added device. */
  readonly welcomes: readonly SplitWelcome[]
}

export interface SplitWelcome {
  readonly id: WelcomeId
  readonly deviceId: DeviceId
  readonly keyPackageRef: Uint8Array
  readonly welcome: Uint8Array
  readonly expiresAtMs: number
}

/** A status change of a directive, for the audit log. */
export interface DirectiveOutcome {
  readonly id: DirectiveId
  readonly status: "REMOVED" | "DONE"
}
