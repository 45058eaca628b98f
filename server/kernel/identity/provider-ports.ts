// Interfaces to identity providers, which vouch for users. Implemented by server/providers.
import type { ProviderClient } from "../records.ts"

/** The single use of a provider's token, or of a sign-in transaction. */
export interface TokenUse {
  /** SHA-256: 32 bytes. */
  tokenHash: Uint8Array
  expiresAtMs: number
}

/** The account that a provider vouched for. */
export interface Vouched {
  issuer: string
  subject: string
  providerTenant: string | null
  email: string | null
  emailVerified: boolean
  name: string | null
  /** The address is the provider's relay for a user who hides theirs. */
  isRelayEmail: boolean
  /** When the user authenticated at the provider; null if the provider does not say. */
  authTimeMs: number | null
  /** The provider's refresh token, if a code was exchanged and the token can revoke the account's consent. */
  providerRefreshToken: string | null
  /** The token that must not be used twice; null for a code, which the provider accepts once. */
  singleUse: TokenUse | null
}

/** A provider, as sign-in sees it. */
export interface IdentityProvider {
  /**
   * Verifies a credential of the provider's client against the app's configuration.
   *
   * @throws Refused PROVIDER_TOKEN_INVALID, NONCE_MISMATCH, UPSTREAM_UNAVAILABLE.
   */
  verify(client: ProviderClient, credential: ExternalCredential, nonce: string): Promise<Vouched>
  /**
   * Revokes the account's refresh token at the provider. Absent if the provider has no such call. Idempotent.
   *
   * @throws Refused UPSTREAM_UNAVAILABLE.
   */
  revoke?(client: ProviderClient, providerRefreshToken: string): Promise<void>
}

/**
 * A provider that identifies users by email. Its tokens never leave the call.
 *
 * Every call may also throw Refused PROVIDER_NOT_CONFIGURED, and RATE_LIMITED with `retry_after`. Calls that return
 * Vouched may throw PROVIDER_TOKEN_INVALID.
 */
export interface EmailProvider {
  /** @throws Refused INVALID_CREDENTIALS (also for an unknown address), EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE. */
  signIn(client: ProviderClient, credential: { email: string; password: string }): Promise<Vouched>
  /**
   * Verifies the access token of a session that the app has at the project: its signature, and at the project that the
   * session is live. The session continues.
   *
   * @throws Refused PROVIDER_TOKEN_INVALID, EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE.
   */
  verifySession(client: ProviderClient, accessToken: string): Promise<Vouched>
  /**
   * Requests a magic link. The result does not depend on whether the address is known.
   *
   * @param redirectUri Target of the link. The caller has checked that the app allows it.
   * @param mayCreate If true, the provider creates an account for an unknown address.
   * @throws Refused RATE_LIMITED (the provider's own limit), UPSTREAM_UNAVAILABLE.
   */
  sendMagicLink(client: ProviderClient, to: { email: string; redirectUri: string; mayCreate: boolean }): Promise<void>
  /**
   * Redeems a magic link. Of concurrent calls with one link several may succeed, but only one has an unused
   * `singleUse`.
   *
   * @param guard Called before the link's session ends. Without it, a first link replaces the password.
   * @throws Refused MAGIC_LINK_INVALID (unknown, used or expired), EMAIL_NOT_VERIFIED, UPSTREAM_UNAVAILABLE.
   */
  confirmMagicLink(client: ProviderClient, tokenHash: string, guard?: PasswordGuard): Promise<Vouched>
}

/**
 * Decides whether to replace the password of an account after a magic link.
 *
 * @param of.isFirst The link is the first proof of the address: anyone may have set the current password.
 * @param replace Replaces the password with a random one that is not stored. False if the provider refused.
 */
export type PasswordGuard = (
  of: { subject: string; isFirst: boolean },
  replace: () => Promise<boolean>,
) => Promise<void>

/** A change of an account that the provider reports outside a sign-in. */
export interface ProviderNotification {
  /** Unique per provider client; processed once. */
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
