// Who signs. Credentials, lists and proofs are the auth service's alone; a messaging backend has no key but that for its
// receipts and claim tickets, or a broken one could make members.
import type { ClaimId, ConversationId, DecisionId, DeviceId, PrincipalId } from "../ids.ts"
import type { MembershipOp } from "./membership.ts"
import type { MessagingDevice, Place, SignedDeviceList } from "./records.ts"

/** Signed bytes, and the hash that everything else names them by. */
export interface Signed {
  readonly bytes: Uint8Array
  readonly hash: Uint8Array
}

/** The auth service, as the messaging service calls it. In one program through this port, else over RPC. */
export interface CredentialAuthority {
  /**
   * Signs a DeviceCredentialBodyV1. Signing the same twice gives the same bytes.
   *
   * @param request What the device has signed: a SignedBytesV1. An authority elsewhere takes key and flags from it.
   */
  issueCredential(of: CredentialFacts, request: Uint8Array): Promise<Signed>
  /** Signs a DeviceListBodyV1 of these entries. */
  signDeviceList(of: {
    place: Place
    userId: PrincipalId
    version: bigint
    previousHash: Uint8Array | null
    entries: readonly Pick<MessagingDevice, "id" | "credentialHash" | "status" | "changedAtMs">[]
    issuedAtMs: number
  }): Promise<SignedDeviceList>
  /**
   * Signs a MembershipProofBodyV1, for 300 seconds. The decision was made by `decideMembership`.
   *
   * @param paper Asked by an authority elsewhere, where there is a requester.
   */
  issueProof(of: ProofFacts, paper: () => Promise<RequesterPaper>): Promise<Signed>
  /** SignedBytesV1 of the newest IssuerKeySetBodyV1, signed offline by the root; undefined when there is none. */
  issuerKeySet(): Uint8Array | undefined
}

export interface CredentialFacts {
  readonly place: Place
  readonly userId: PrincipalId
  readonly deviceId: DeviceId
  readonly leafKey: Uint8Array
  /** The version of the list that introduces it. */
  readonly serial: bigint
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** DeviceFlag bits. */
  readonly flags: number
}

/** What says that a credential hash is of the caller's device: that credential, or a signed list that names it. */
export interface RequesterPaper {
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
  /** The credential hash of the device that commits; null for a directive. */
  readonly requester: Uint8Array | null
  readonly decisionId: DecisionId
  readonly issuedAtMs: number
  readonly policyVersion: bigint
}

/** What a receipt says. Hashes are 32 bytes; null where there is none. */
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

/** Signs without waiting: nothing comes between reading a log's head and writing after it. */
export type ReceiptSigner = (facts: ReceiptFacts) => Signed

export interface TicketFacts {
  readonly place: Place
  readonly claimId: ClaimId
  readonly conversationId: ConversationId
  readonly requesterDeviceId: DeviceId
  readonly packages: readonly {
    readonly deviceId: DeviceId
    readonly credentialHash: Uint8Array
    readonly keyPackageRef: Uint8Array
  }[]
  /** Of the first call under the claim id, so that the ticket is the same each time. */
  readonly issuedAtMs: number
}

/** Signs a ClaimTicketBodyV1, for a day. */
export type TicketSigner = (facts: TicketFacts) => Uint8Array
