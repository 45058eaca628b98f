// What the handlers are handed of providers: who vouches for people. Implemented by server/providers.
import type { ProviderClient } from "../records.ts"

/** What a provider vouched for. */
export interface Vouched {
  issuer: string
  subject: string
  providerTenant: string | null
  email: string | null
  emailVerified: boolean
  name: string | null
  /** The address is the provider's relay for a person who hides theirs. */
  isRelayEmail: boolean
  /** When the person authenticated at the provider; null where the provider does not say. */
  authTimeMs: number | null
  /** The provider's own refresh token, where a code was traded and the provider's account can be ended with it. */
  providerRefreshToken: string | null
  /** What must not be taken twice: the token, or null for a code that the provider itself takes once. */
  singleUse: { tokenHash: Uint8Array; expiresAtMs: number } | null
}

/** A provider, as sign-in sees it. */
export interface IdentityProvider {
  /**
   * Verifies what the provider's client handed to the app, against that app's configuration.
   *
   * @throws Refused PROVIDER_TOKEN_INVALID, NONCE_MISMATCH, UPSTREAM_UNAVAILABLE.
   */
  verify(client: ProviderClient, credential: ExternalCredential, nonce: string): Promise<Vouched>
  /**
   * Tells the provider that its account is no longer used here, with the refresh token that it gave. Absent where a
   * provider has no such call. Again is no error.
   *
   * @throws Refused UPSTREAM_UNAVAILABLE.
   */
  revoke?(client: ProviderClient, providerRefreshToken: string): Promise<void>
}

/**
 * A provider that knows people by email: what the service asks it for them. Its tokens never leave the call.
 *
 * Every call may also be Refused PROVIDER_NOT_CONFIGURED, and RATE_LIMITED with `retry_after`; those that vouch,
 * PROVIDER_TOKEN_INVALID.
 */
export interface EmailProvider {
  /** @throws Refused INVALID_CREDENTIALS (also for an unknown address), EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE. */
  signIn(client: ProviderClient, credential: { email: string; password: string }): Promise<Vouched>
  /**
   * Verifies the access token of a session that the app has at the project, by its signature and by asking the project
   * whether the session lives. The session goes on.
   *
   * @throws Refused PROVIDER_TOKEN_INVALID, EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE.
   */
  verifySession(client: ProviderClient, accessToken: string): Promise<Vouched>
  /**
   * Has a magic link sent. Resolves alike whether the address is known or not.
   *
   * @param redirectUri Where the link leads; the caller has checked that the app allows it.
   * @param mayCreate Whether a person whom the provider does not know is made there.
   * @throws Refused RATE_LIMITED (the provider's own limit), UPSTREAM_UNAVAILABLE.
   */
  sendMagicLink(client: ProviderClient, to: { email: string; redirectUri: string; mayCreate: boolean }): Promise<void>
  /**
   * Several calls at the same moment may each vouch: only one of them has a single use that was not used before.
   *
   * @param guard Asked before the link's session ends; without one, a first link replaces the password.
   * @throws Refused MAGIC_LINK_INVALID (unknown, used or expired), EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE.
   */
  confirmMagicLink(client: ProviderClient, tokenHash: string, guard?: PasswordGuard): Promise<Vouched>
}

/**
 * Decides about the password of who showed a link.
 *
 * @param of.isFirst The link is what first showed the address: the password that is there may be a stranger's.
 * @param replace Replaces it with one that nobody knows. False when the provider did not.
 */
export type PasswordGuard = (
  of: { subject: string; isFirst: boolean },
  replace: () => Promise<boolean>,
) => Promise<void>

/** What a provider tells of an account by itself, without a sign-in. */
export interface ProviderNotification {
  /** Unique for the provider client; taken once. */
  readonly id: string
  readonly issuer: string
  readonly providerTenant: string | null
  readonly subject: string
  readonly change: "CONSENT_REVOKED" | "ACCOUNT_DELETED" | "EMAIL_DISABLED" | "EMAIL_ENABLED"
  readonly expiresAtMs: number
}

/** Reads the notifications of IDP_B. */
export interface NotificationReader {
  /**
   * @param clients The clients that a notification may be for: their issuers and audiences.
   * @throws Refused PROVIDER_TOKEN_INVALID, UPSTREAM_UNAVAILABLE.
   */
  read(clients: readonly ProviderClient[], jws: string): Promise<ProviderNotification>
}

export type ExternalCredential =
  | { readonly is: "idToken"; readonly idToken: string }
  | { readonly is: "code"; readonly code: string; readonly codeVerifier: string; readonly redirectUri: string }
