import type { Verify } from "@signet/canonical/ed25519"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { LimitCounts } from "@signet/kernel/limits/ports"
import type { CredentialAuthority, ReceiptSigner, TicketSigner } from "@signet/kernel/messaging/authority"
import type { ReadTail } from "@signet/kernel/messaging/listening"
import type { BlobStore, MessagingAccounts, MessagingStore } from "@signet/kernel/messaging/ports"
import type { EndingOf } from "@signet/kernel/messaging/stream-owner"
import type { Wakeups } from "@signet/kernel/messaging/wakeups"
import type { Clock, Random } from "@signet/kernel/ports"
import type { Limiter } from "../deps.ts"
import type { Rosters } from "./conversation/subscribe/rosters.ts"
import type { Pushes } from "./push/pushes.ts"
import type { Beats } from "./timers.ts"

/** The dependencies of the messaging handlers. */
export interface MessagingDeps {
  readonly store: MessagingStore
  /** The auth service's facts: users, sessions, audit. */
  readonly accounts: MessagingAccounts
  readonly authority: CredentialAuthority
  readonly signReceipt: ReceiptSigner
  readonly signTicket: TicketSigner
  /**
   * The keys of the newest key set, which verify this service's own signed objects.
   *
   * @throws Refused UNAVAILABLE without a key set.
   */
  readonly issuerKeys: () => IssuerKeys
  /** Ed25519 by the strict rule of `verifyEd25519`, with the platform's fastest implementation. */
  readonly verify: Verify
  readonly wakeups: Wakeups
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly random: Random
  /** For page tokens, and for the subjects of counts. */
  readonly secrets: Secrets
  /** Null disables limits: for development. */
  readonly limiter: Limiter | null
  /** Where calls are counted. */
  readonly limits: LimitCounts
  /** Null disables push hints. */
  readonly pushes: Pushes | null
  /** Leaves that a new conversation may have, at most `maxCount.leaves.most`. */
  readonly leavesPerConversation: number
  /** The parts that the streams of this process share. Missing where a call shares nothing with others: on Workers. */
  readonly shared?: {
    readonly beats: Beats
    readonly endingOf: EndingOf
    readonly rosters: Rosters
    readonly readTail: ReadTail
  }
  /** The URL that credentials, proofs and receipts are issued under. */
  readonly issuer: string
}
