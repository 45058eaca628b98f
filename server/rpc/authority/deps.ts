import type { Verify } from "@signet/canonical/ed25519"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import type { Guard } from "@signet/guard/guard"
import type { CredentialAuthority } from "@signet/kernel/messaging/authority"
import type { Clock, Store } from "@signet/kernel/ports"
import type { CountingDeps } from "../limit.ts"

/** The dependencies of the handlers for messaging backends. */
export interface AuthorityDeps extends Omit<CountingDeps, "store" | "clock"> {
  readonly store: Store
  readonly authority: CredentialAuthority
  /** @throws Refused UNAVAILABLE without a key set. */
  readonly issuerKeys: () => IssuerKeys
  readonly verify: Verify
  /** The guard for messaging's audience: verifies the tokens of a backend's users. */
  readonly callers: Pick<Guard, "authenticate" | "authorize">
  readonly clock: Clock
  /** The issuer URL of credentials, proofs and receipts. */
  readonly issuer: string
}
