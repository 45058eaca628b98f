import type { EmailProvider, IdentityProvider, NotificationReader } from "@signet/kernel/identity/provider-ports"
import type { KeyRing, Secrets } from "@signet/kernel/keys/ports"
import type { Limits } from "@signet/kernel/limits/policy"
import type { RefusalCache } from "@signet/kernel/limits/refusal-cache"
import type { Clock, Random, Store } from "@signet/kernel/ports"
import type { Provider } from "@signet/kernel/records"
import type { RefusalAudit } from "./audit/refusals.ts"
import type { Background } from "./background.ts"

/** The limits, and this process's cache of refused keys. */
export interface Limiter {
  readonly limits: Limits
  readonly refused: RefusalCache
  /** Called for every refusal, with the name and kind of the limit. */
  readonly onRefused?: (name: string, kind: "window" | "lockout") => void
}

/** The dependencies of the auth service's handlers. */
export interface Deps {
  readonly store: Store
  readonly keys: KeyRing
  readonly secrets: Secrets
  readonly clock: Clock
  readonly random: Random
  /** Null disables limits: for development. */
  readonly limiter: Limiter | null
  readonly refusals: RefusalAudit
  readonly providers: Readonly<Partial<Record<Provider, IdentityProvider>>>
  /** Providers whose email sign-in (code or link) this server calls directly. */
  readonly emailProviders: Readonly<Partial<Record<"IDP_C", EmailProvider>>>
  /** Verify and parse the notifications that providers send about accounts. */
  readonly notificationReaders: Readonly<Record<"IDP_B", NotificationReader>>
  /** Work that continues after the response. */
  readonly background: Background
  /** The tokens' `iss`. */
  readonly issuer: string
  /** The service's own audience: the audience of tokens for session and administration routes. */
  readonly authAudience: string
  /** Lifetime of a user's access token, 300 to 900 seconds. */
  readonly accessTokenSeconds: number
  /** Allows loopback addresses in the configuration: for development. */
  readonly isLoopbackAllowed: boolean
}
