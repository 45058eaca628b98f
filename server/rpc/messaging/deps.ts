import type { Verify } from "@signet/canonical/ed25519"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import type { CredentialAuthority, ReceiptSigner, TicketSigner } from "@signet/kernel/messaging/authority"
import type { BlobStore, MessagingStore, Wakeups } from "@signet/kernel/messaging/ports"
import type { Clock, Random, Secrets, Store } from "@signet/kernel/ports"
import type { Limiter } from "../limit.ts"

/** What the handlers of area B act with. */
export interface MessagingDeps {
  readonly store: MessagingStore
  /** Area A's store: who is a user of what, and the counts of calls. */
  readonly accounts: Store
  readonly authority: CredentialAuthority
  readonly signReceipt: ReceiptSigner
  readonly signTicket: TicketSigner
  /**
   * The keys of the newest key set: what the service's own papers are verified with.
   *
   * @throws Refused UNAVAILABLE when there is no key set.
   */
  readonly issuerKeys: () => IssuerKeys
  /** Ed25519 by the strict rule of `verifyEd25519`, as fast as the platform has it. */
  readonly verify: Verify
  readonly wakeups: Wakeups
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly random: Random
  /** For page tokens, and for the subjects of counts. */
  readonly secrets: Secrets
  /** Null counts no calls: for development. */
  readonly limiter: Limiter | null
  /** The URL that credentials, proofs and receipts are issued under. */
  readonly issuer: string
}
