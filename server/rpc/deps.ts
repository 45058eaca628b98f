import type { EmailProvider, IdentityProvider, NotificationReader } from "@signet/kernel/identity/provider-ports"
import type { KeyRing, Secrets } from "@signet/kernel/keys/ports"
import type { Limits } from "@signet/kernel/limits/policy"
import type { RefusedMemory } from "@signet/kernel/limits/refused-memory"
import type { Clock, Random, Store } from "@signet/kernel/ports"
import type { Provider } from "@signet/kernel/records"
import type { RefusalAudit } from "./audit/refusals.ts"
import type { Background } from "./background.ts"

/** What is counted, and what this process remembers of it. */
export interface Limiter {
  readonly limits: Limits
  readonly memory: RefusedMemory
  /** Hears every refusal, with the lock's or the window's name. */
  readonly onRefused?: (name: string, by: "window" | "lockout") => void
}

/** What the handlers of area A act with. */
export interface Deps {
  readonly store: Store
  readonly keys: KeyRing
  readonly secrets: Secrets
  readonly clock: Clock
  readonly random: Random
  /** Null counts no calls: for development. */
  readonly limiter: Limiter | null
  readonly refusals: RefusalAudit
  readonly providers: Readonly<Partial<Record<Provider, IdentityProvider>>>
  /** The providers that know people by email: asked from here, and not by apps. */
  readonly emailProviders: Readonly<Partial<Record<"IDP_C", EmailProvider>>>
  /** The providers that tell of accounts by themselves. */
  readonly notificationReaders: Readonly<Partial<Record<"IDP_B", NotificationReader>>>
  readonly background: Background
  /** The tokens' `iss`. */
  readonly issuer: string
  /** The service's own audience, which its session and administration routes ask for. */
  readonly authAudience: string
  /** Lifetime of a user's access token: 300 to 900 seconds. */
  readonly accessTokenSeconds: number
  /** Addresses at loopback may be configured: for development. */
  readonly isLoopbackAllowed: boolean
}
