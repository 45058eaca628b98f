// What a handler hands to the store once the bytes are checked: facts, and the bytes as they came.
import type { ConversationId, DeviceId, DirectiveId, PrincipalId, WelcomeId } from "../ids.ts"
import type { MembershipOp } from "./membership.ts"
import type { EpochState, Leaf } from "./records.ts"

/** A message whose framing was read, and whose sender is the caller. */
export interface VerifiedAppend {
  readonly conversationId: ConversationId
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  /** 16 bytes. */
  readonly idempotencyKey: Uint8Array
  /** The epoch that it is framed in, which is the one that the request expects. */
  readonly epoch: bigint
  /** The MLSMessage, as it came. */
  readonly message: Uint8Array
  /** H("content", message); of a commit H("commit", message). */
  readonly contentHash: Uint8Array
  /** Null for an application message. */
  readonly commit: VerifiedCommit | null
}

/**
 * A commit that was checked against the conversation at `epoch`: framing, signature, proof, credentials, roster,
 * GroupInfo, tree, welcome, tickets. All of that holds as long as the epoch is the same under the lock.
 */
export interface VerifiedCommit {
  /** The id of the group that this commit begins in place of the conversation's; null for a commit of that group. */
  readonly resetGroupId: Uint8Array | null
  /** Null when no member comes or goes. */
  readonly membership: {
    readonly op: MembershipOp
    /** The proof was given for a directive. */
    readonly isDirected: boolean
    readonly proof: Uint8Array
    /** H("membership-proof", proof). */
    readonly proofHash: Uint8Array
  } | null
  readonly roster: readonly Leaf[]
  readonly groupInfo: Uint8Array
  /** H("group-info", groupInfo). */
  readonly groupInfoHash: Uint8Array
  readonly tree: { readonly bytes: Uint8Array; readonly hash: Uint8Array } | null
  /** The epoch that it leads to. The receipt's hash is the store's to add. */
  readonly state: Omit<EpochState, "receiptHash">
  /** One for each device that is added. */
  readonly welcomes: readonly SplitWelcome[]
}

export interface SplitWelcome {
  readonly id: WelcomeId
  readonly deviceId: DeviceId
  readonly keyPackageRef: Uint8Array
  readonly welcome: Uint8Array
  readonly expiresAtMs: number
}

/** What was done to a directive, for the audit. */
export interface DirectiveOutcome {
  readonly id: DirectiveId
  readonly status: "REMOVED" | "DONE"
}
