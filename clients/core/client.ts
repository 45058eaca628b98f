// What configure gives an app.
import type { Channel, Clock, Lock, Random, Shelf, Wire } from "./ports.ts"
import type { SecretBox } from "./secret-box.ts"
import type { Session, SignedInUser } from "./session.ts"

/** Ways of signing in that an app offers. */
export type EnabledProvider = "IDP_A" | "IDP_B" | "EMAIL_PASSWORD" | "MAGIC_LINK"

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
  readonly provider: "IDP_A" | "IDP_B"
  /** The nonce that went to the provider, before any hashing. */
  readonly nonce?: string
  readonly credential:
    | { readonly idToken: string }
    | { readonly code: string; readonly codeVerifier?: string; readonly redirectUri?: string }
  /** Name and address that the provider tells at the first sign-in only. They are kept until a sign-in took them along. */
  readonly profileHints?: { readonly name?: string | undefined; readonly email?: string | undefined } | undefined
}

export interface EmailSignIn extends SignInOptions {
  readonly email: string
  readonly password: string
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
  /** For a provider's authorization endpoint (RFC 7636, S256). */
  newPkce(): Promise<{ codeVerifier: string; codeChallenge: string }>
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
