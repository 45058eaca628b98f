// What configure gives an app.
import type { Channel, Clock, Lock, Random, Shelf, Wire } from "./ports.ts"
import type { SecretBox } from "./secret-box.ts"
import type { Session, SignedInUser } from "./session.ts"

/** Ways of signing in that an app offers. */
export type EnabledProvider = "IDP_A" | "IDP_B" | "IDP_C" | "EMAIL_PASSWORD" | "MAGIC_LINK"

export interface SignetConfig {
  /** `app_…` */
  readonly appId: string
  /** Where the auth service is, without a slash at the end. */
  readonly authBaseUrl: string
  readonly providers: readonly EnabledProvider[]
  /** The services whose tokens are wanted from the start, at most seven; others are asked for when they are used. */
  readonly audiences?: readonly string[]
  /** The auth service's own audience. Default: `auth`. */
  readonly authAudience?: string
  /** Where the app runs. Default: what the platform's package says. */
  readonly platform?: "WEB" | "ANDROID" | "IOS"
  /** Where magic links lead: one of the app's redirect addresses, letter for letter. */
  readonly redirectUri?: string
  /** Links open on the device that asked for them only; needed where the app is set so. */
  readonly requireSameDevice?: boolean
  readonly device?: { deviceId?: string; label?: string; os?: string; appVersion?: string }
}

/** Where the refresh token is. */
export type RefreshTokenPlace =
  /** A cookie that scripts cannot read: the auth service is under the app's own site. */
  | { readonly in: "cookie" }
  /** On the shelf, sealed. */
  | { readonly in: "box"; readonly box: SecretBox }

/** What the platform's package brings. */
export interface Platform {
  readonly clock: Clock
  readonly random: Random
  readonly shelf: Shelf
  readonly lock: Lock
  readonly channel?: Channel
  readonly refreshToken: RefreshTokenPlace
  /** How calls travel where nothing else is said. */
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
  /** Which of the app's connections of this provider; needed where it has several and none is the default. */
  readonly connection?: string
  /** The nonce that went to the provider, before any hashing. */
  readonly nonce?: string
  /** Of `startSignIn`, whose nonce went to the provider. */
  readonly transaction?: string
  readonly credential:
    | { readonly idToken: string }
    | { readonly code: string; readonly codeVerifier?: string; readonly redirectUri?: string }
    /** IDP_C: the access token of the app's session there. */
    | { readonly providerSession: string }
  /** Name and address that the provider tells at the first sign-in only. They are kept until a sign-in took them along. */
  readonly profileHints?: { readonly name?: string | undefined; readonly email?: string | undefined } | undefined
}

export interface EmailSignIn extends SignInOptions {
  readonly email: string
  readonly password: string
}

/** A way of signing in, as a sign-in page shows it. */
export interface SignInOption {
  readonly provider: "IDP_A" | "IDP_B" | "IDP_C" | "unknown"
  /** Empty for the default. */
  readonly connection: string
  readonly displayName: string
  /** A browser can be sent there. Others sign in with what the provider's own SDK hands out, or by email. */
  readonly canRedirect: boolean
  readonly clientId: string
  readonly authorizationEndpoint: string
  readonly scopes: readonly string[]
}

export interface BeginSignIn extends SignInOptions {
  /** Default: the app's default connection, or its only one. */
  readonly connection?: string
  /** Where the provider sends the browser back to: one of the connection's redirect addresses, letter for letter. */
  readonly redirectUri: string
  /** Where the app goes on: a path of its own origin. Default: `/`. */
  readonly returnTo?: string
  /** Told to the platform when the callback comes. Default: `page`. */
  readonly display?: "page" | "popup"
  /** Whom the provider is asked to sign in (OpenID Connect Core section 3.1.2.1). */
  readonly loginHint?: string
  /** Has the provider ask again, or which account, although it knows the browser. */
  readonly prompt?: "login" | "select_account" | "consent"
}

/** A provider's answer to a sign-in that this client began. Its state is used up. */
export interface Callback {
  readonly state: string
  readonly returnTo: string
  readonly display: "page" | "popup"
  /**
   * Has the service trade the code, and signs in.
   *
   * @throws SignetError CALLBACK_ISSUER_MISMATCH, PROVIDER_REFUSED, and what the service refuses.
   */
  finish(): Promise<SignedIn>
}

export interface SignedIn {
  readonly user: SignedInUser
  /** Whether this was the person's first sign-in ever. */
  readonly created: boolean
}

export interface Signet {
  readonly session: Session
  /** Fresh random text for a provider's `nonce`. */
  newNonce(): string
  /**
   * Has the service make the nonce for a provider's SDK: a stolen ID token signs nobody in without the transaction.
   *
   * @returns What `login` takes; the transaction stays on this device.
   */
  startSignIn(of: {
    readonly provider: "IDP_A" | "IDP_B"
    readonly connection?: string
    /** Where the provider sends a code; leave it out for an ID token. */
    readonly redirectUri?: string
  }): Promise<{ readonly nonce: string; readonly transaction: string }>
  /** For a provider's authorization endpoint (RFC 7636, S256). */
  newPkce(): Promise<{ codeVerifier: string; codeChallenge: string }>
  /** How people sign in to the app on this platform. Asked of the service each time. */
  signInOptions(): Promise<readonly SignInOption[]>
  /**
   * Begins a sign-in at a provider's page: makes state and PKCE, has the service make the nonce, and keeps them for ten
   * minutes.
   *
   * @returns Where to send the browser. Platforms with a browser have a call that does.
   * @throws SignetError CONNECTION_REQUIRED, CONNECTION_UNKNOWN, PROVIDER_NOT_ENABLED, RETURN_PATH_INVALID
   */
  beginSignIn(of: BeginSignIn): Promise<{ readonly url: string; readonly state: string }>
  /**
   * Reads the address that a provider sent the browser back to. Each answer is opened once.
   *
   * @returns Undefined for an address that is no answer of a provider.
   * @throws SignetError CALLBACK_INVALID when this client did not begin it, or it was opened before, or has expired.
   */
  openCallback(address: string): Promise<Callback | undefined>
  login(signIn: ProviderSignIn): Promise<SignedIn>
  loginWithPassword(signIn: EmailSignIn): Promise<SignedIn>
  /** The answer is the same whether anybody has the address. */
  sendMagicLink(email: string, options?: { redirectUri?: string }): Promise<void>
  /** @param tokenHash From the link, after the person pressed a button: opening the page must not use the link up. */
  confirmMagicLink(tokenHash: string, options?: SignInOptions): Promise<SignedIn>
  /** The platform has noticed that time passed: it is online again, a page came back, a laptop woke. */
  wake(): void
  /** The platform is about to freeze the page: nothing that would keep it from that stays open. */
  suspend(): void
  /** Ends timers and listeners; the sign-in stays on the shelf. */
  close(): void
}
