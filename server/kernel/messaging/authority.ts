// Interfaces for signing. Only the auth service signs credentials, lists and proofs. A messaging backend has keys for
// its receipts and claim tickets only, so a compromised backend cannot add members.
import type { ClaimId, ConversationId, DecisionId, DeviceId, PrincipalId } from "../ids.ts"
import type { MembershipOp } from "./membership.ts"
import type { MessagingDevice, Place, SignedDeviceList } from "./records.ts"

/** Signed bytes and the hash that identifies them. */
export interface Signed {
  readonly bytes: Uint8Array
  readonly hash: Uint8Array
}

/** The auth service as seen by the messaging service: called in process or over RPC. */
export interface CredentialAuthority {
  /**
   * Signs a DeviceCredentialBodyV1. Equal facts yield equal bytes.
   *
   * @param request The SignedBytesV1 that the device signed. A remote authority reads key and flags from it.
   */
  issueCredential(of: CredentialFacts, request: Uint8Array): Promise<Signed>
  /**
   * Signs a DeviceListBodyV1 of these entries.
   *
   * @param of.previous The newest list, if the caller is an administrator who revokes another user's devices. Only a
   *   remote authority reads it.
   */
  signDeviceList(of: {
    place: Place
    userId: PrincipalId
    version: bigint
    previousHash: Uint8Array | null
    entries: readonly Pick<MessagingDevice, "id" | "credentialHash" | "status" | "changedAtMs">[]
    issuedAtMs: number
    previous?: Uint8Array
  }): Promise<SignedDeviceList>
  /**
   * Signs a MembershipProofBodyV1, valid for 300 seconds. `decideMembership` made the decision.
   *
   * @param evidence Loads the requester's evidence. Called only by a remote authority, and only if there is a requester.
   */
  issueProof(of: ProofFacts, evidence: () => Promise<RequesterEvidence>): Promise<Signed>
  /** SignedBytesV1 of the newest IssuerKeySetBodyV1, signed by the offline root; undefined if there is none. */
  issuerKeySet(): Uint8Array | undefined
}

export interface CredentialFacts {
  readonly place: Place
  readonly userId: PrincipalId
  readonly deviceId: DeviceId
  readonly leafKey: Uint8Array
  /** The version of the device list that first contains it. */
  readonly serial: bigint
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** DeviceFlag bits. */
  readonly flags: number
}

/**
 * Shows that a credential hash belongs to the caller's device: the credential itself, or a signed list that names it.
 */
export interface RequesterEvidence {
  readonly is: "credential" | "list"
  readonly bytes: Uint8Array
}

export interface ProofFacts {
  readonly place: Place
  readonly conversationId: ConversationId
  readonly mlsGroupId: Uint8Array
  readonly op: MembershipOp
  readonly baseEpoch: bigint
  /** Null for CREATE. */
  readonly baseStateTag: Uint8Array | null
  readonly added: readonly { readonly credentialHash: Uint8Array; readonly keyPackageRef: Uint8Array }[]
  readonly removed: readonly Uint8Array[]
  /** Credential hash of the committing device; null for a directive. */
  readonly requester: Uint8Array | null
  readonly decisionId: DecisionId
  readonly issuedAtMs: number
  readonly policyVersion: bigint
}

/** The contents of a receipt. Hashes are 32 bytes; null if absent. */
export interface ReceiptFacts {
  readonly conversationId: ConversationId
  readonly mlsGroupId: Uint8Array
  readonly epoch: bigint
  readonly seq: bigint
  readonly commitHash: Uint8Array
  readonly proofHash: Uint8Array | null
  readonly groupInfoHash: Uint8Array
  readonly treeBlobHash: Uint8Array | null
  readonly previousReceiptHash: Uint8Array | null
  readonly acceptedAtMs: number
  readonly resultingStateTag: Uint8Array
}

/** Signs synchronously, so that nothing runs between reading a log's head and writing after it. */
export type ReceiptSigner = (facts: ReceiptFacts) => Signed

interface TicketFacts {
  readonly place: Place
  readonly claimId: ClaimId
  readonly conversationId: ConversationId
  readonly requesterDeviceId: DeviceId
  readonly packages: readonly {
    readonly deviceId: DeviceId
    readonly credentialHash: Uint8Array
    readonly keyPackageRef: Uint8Array
  }[]
  /** Time of the first call under the claim id, so that every call yields the same ticket. */
  readonly issuedAtMs: number
}

/** Signs a ClaimTicketBodyV1, valid for one day. */
export type TicketSigner = (facts: TicketFacts) => Uint8Array
