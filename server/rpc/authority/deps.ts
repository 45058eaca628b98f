import type { Verify } from "@signet/canonical/ed25519"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import type { Guard } from "@signet/guard/guard"
import type { CredentialAuthority } from "@signet/kernel/messaging/authority"
import type { Clock, Store } from "@signet/kernel/ports"
import type { CountingDeps } from "../limit.ts"

/** What the handlers for messaging backends act with. */
export interface AuthorityDeps extends Omit<CountingDeps, "store" | "clock"> {
  readonly store: Store
  readonly authority: CredentialAuthority
  /** @throws Refused UNAVAILABLE when there is no key set. */
  readonly issuerKeys: () => IssuerKeys
  readonly verify: Verify
  /** Of messaging's audience: who a caller's token says is calling. */
  readonly callers: Pick<Guard, "authenticate" | "authorize">
  readonly clock: Clock
  /** The URL that papers are issued under. */
  readonly issuer: string
}
