// The identity client's public types.
import type { ByteStorage, Channel, Clock, Lock, Random, Wire } from "./ports.ts"
import type { SecretBox } from "./secret-box.ts"
import type { Session, SignedInUser } from "./session.ts"

/** The sign-in methods that an app offers. */
export type EnabledProvider = "IDP_A" | "IDP_B" | "IDP_C" | "EMAIL_PASSWORD" | "MAGIC_LINK"

export interface SignetConfig {
  /** `app_…` */
  readonly appId: string
  /** URL of the auth service, without a trailing slash. */
  readonly authBaseUrl: string
  readonly providers: readonly EnabledProvider[]
  /** Audiences whose tokens are requested from the start, at most seven; others are requested on first use. */
  readonly audiences?: readonly string[]
  /** The auth service's own audience. Default: `auth`. */
  readonly authAudience?: string
  /** The app's platform. Default: set by the platform's package. */
  readonly platform?: "WEB" | "ANDROID" | "IOS"
  /** The target of magic links: exactly one of the app's redirect URIs. */
  readonly redirectUri?: string
  /** Links work only on the device that requested them; must match the app's setting. */
  readonly requireSameDevice?: boolean
  readonly device?: { deviceId?: string; label?: string; os?: string; appVersion?: string }
}

/** Where the refresh token is stored. */
export type RefreshTokenPlace =
  /** A cookie that scripts cannot read; requires the auth service on the app's own site. */
  | { readonly in: "cookie" }
  /** In the store, sealed. */
  | { readonly in: "box"; readonly box: SecretBox }

/** The platform's implementation of the client's ports. */
export interface Platform {
  readonly clock: Clock
  readonly random: Random
  readonly storage: ByteStorage
  readonly lock: Lock
  readonly channel?: Channel
  readonly refreshToken: RefreshTokenPlace
  /** The default protocol. */
  readonly wire: Wire
  readonly fetch?: typeof globalThis.fetch
}

export interface SignInOptions {
  readonly tenantId?: string
  readonly contextId?: string
  readonly invitationCode?: string
  readonly cancelDeletion?: boolean
}

export interface ProviderSignIn extends SignInOptions {
  readonly provider: "IDP_A" | "IDP_B" | "IDP_C"
  /** One of the app's connections of this provider; required if it has several and no default. */
  readonly connection?: string
  /** The nonce that the provider received, before any hashing. */
  readonly nonce?: string
  /** From `startSignIn`, if its nonce went to the provider. */
  readonly transaction?: string
  readonly credential:
    | { readonly idToken: string }
    | { readonly code: string; readonly codeVerifier?: string; readonly redirectUri?: string }
    /** IDP_C: the access token of the app's session there. */
    | { readonly providerSession: string }
  /**
   * Name and address, which some providers send only at the first sign-in. They are stored until a sign-in succeeds.
   */
  readonly profileHints?: { readonly name?: string | undefined; readonly email?: string | undefined } | undefined
}

export interface EmailSignIn extends SignInOptions {
  readonly email: string
  readonly password: string
}

/** A sign-in method, for a sign-in page. */
export interface SignInOption {
  readonly provider: "IDP_A" | "IDP_B" | "IDP_C" | "unknown"
  /** Empty for the default connection. */
  readonly connection: string
  readonly displayName: string
  /** True if a browser can be redirected to it. Other methods use the provider's SDK or email. */
  readonly canRedirect: boolean
  readonly clientId: string
  readonly authorizationEndpoint: string
  readonly scopes: readonly string[]
}

export interface BeginSignIn extends SignInOptions {
  /** Default: the app's default connection, or its only one. */
  readonly connection?: string
  /** The address to which the provider redirects: exactly one of the connection's redirect URIs. */
  readonly redirectUri: string
  /** The app's path after the sign-in, on its own origin. Default: `/`. */
  readonly returnTo?: string
  /** Returned with the callback. Default: `page`. */
  readonly display?: "page" | "popup"
  /** The user whom the provider should sign in (OpenID Connect Core section 3.1.2.1). */
  readonly loginHint?: string
  /** Makes the provider prompt although it recognizes the browser. */
  readonly prompt?: "login" | "select_account" | "consent"
  /**
   * Makes the provider authenticate the person again if the last time is older (OpenID Connect Core section 3.1.2.1), and
   * state the time. Without a stated time no sign-in counts as recent.
   */
  readonly maxAgeSeconds?: number
}

/** A provider's answer to a sign-in that this client began. Its state is used up. */
export interface Callback {
  readonly state: string
  readonly returnTo: string
  readonly display: "page" | "popup"
  /**
   * Exchanges the code at the service, and signs in.
   *
   * @throws SignetError CALLBACK_ISSUER_MISMATCH, PROVIDER_REFUSED, and the service's reasons.
   */
  finish(): Promise<SignedIn>
}

export interface SignedIn {
  readonly user: SignedInUser
  /** True for the person's first sign-in. */
  readonly created: boolean
}

export interface Signet {
  readonly session: Session
  /** A random text for a provider's `nonce`. */
  newNonce(): string
  /**
   * Requests a nonce from the service for a provider's SDK. A stolen ID token is useless without the transaction.
   *
   * @returns Parameters for `login`; the transaction stays on this device.
   */
  startSignIn(of: {
    readonly provider: "IDP_A" | "IDP_B"
    readonly connection?: string
    /** The address to which the provider sends a code; omit it for an ID token. */
    readonly redirectUri?: string
  }): Promise<{ readonly nonce: string; readonly transaction: string }>
  /** For a provider's authorization endpoint (RFC 7636, S256). */
  newPkce(): Promise<{ codeVerifier: string; codeChallenge: string }>
  /** The app's sign-in methods on this platform, requested from the service on every call. */
  signInOptions(): Promise<readonly SignInOption[]>
  /**
   * Begins a sign-in at a provider's page: creates state and PKCE, requests a nonce from the service, and stores them
   * for ten minutes.
   *
   * @returns The URL for the browser. Packages for browsers have a call that redirects.
   * @throws SignetError CONNECTION_REQUIRED, CONNECTION_UNKNOWN, PROVIDER_NOT_ENABLED, RETURN_PATH_INVALID
   */
  beginSignIn(of: BeginSignIn): Promise<{ readonly url: string; readonly state: string }>
  /**
   * Parses the address to which a provider redirected. Each callback is accepted once.
   *
   * @returns Undefined for an address that is no provider's callback.
   * @throws SignetError CALLBACK_INVALID if this client did not begin the sign-in, or it was finished before, or has
   *   expired.
   */
  openCallback(address: string): Promise<Callback | undefined>
  login(signIn: ProviderSignIn): Promise<SignedIn>
  loginWithPassword(signIn: EmailSignIn): Promise<SignedIn>
  /** The answer does not reveal whether the address has an account. */
  sendMagicLink(email: string, options?: { redirectUri?: string }): Promise<void>
  /** @param tokenHash From the link, after the person pressed a button: opening the page must not use up the link. */
  confirmMagicLink(tokenHash: string, options?: SignInOptions): Promise<SignedIn>
  /** Called by the platform after a pause: network is back, page resumed, machine woke. */
  wake(): void
  /** Called before the platform freezes the page: closes everything that would prevent it. */
  suspend(): void
  /** Stops timers and listeners; the stored sign-in is kept. */
  close(): void
}
