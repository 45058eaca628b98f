// The app's view of a sign-in.
import type { Transport } from "@connectrpc/connect"
import type { LoggedOutReason } from "./errors.ts"
import type { Wire } from "./ports.ts"

export interface SignedInUser {
  readonly sessionId: string
  readonly identityId: string
  readonly principalId: string
  /** As the provider verified it; never an identifier. */
  readonly primaryEmail: string | undefined
  readonly tenantId: string | undefined
  readonly contextId: string | undefined
}

export type SessionState =
  /** The store has not been read yet. */
  | { readonly is: "starting" }
  | { readonly is: "signedIn"; readonly user: SignedInUser }
  | { readonly is: "loggedOut"; readonly reason: LoggedOutReason }

export interface TransportOptions {
  /** The audience of the attached token. Default: the auth service's own. */
  readonly audience?: string
  /** The URL of the service, without a trailing slash. Default: the auth service. */
  readonly baseUrl?: string
  /** The protocol. Default: Connect. */
  readonly wire?: Wire
}

/** The current value first, then every change. */
export interface Session extends AsyncIterable<SessionState> {
  readonly current: SessionState
  /** Resolves when it is known whether a user is signed in. */
  readonly ready: Promise<void>
  /** Calls the listener with the current value at once, then with every change. @returns Unsubscribes. */
  subscribe(listener: (state: SessionState) => void): () => void
  /**
   * A token that is valid for a while, refreshed when necessary. Do not store it: request it for each call.
   *
   * @param audience Default: the auth service's own.
   * @throws SignetError NOT_SIGNED_IN, UNREACHABLE, AUDIENCE_NOT_REGISTERED, and the reason for which the session
   *   ended.
   */
  accessToken(audience?: string): Promise<string>
  /**
   * A newer token than the current one, for when the service would now state other claims, for example after the
   * registration of a device.
   */
  renewedToken(audience?: string): Promise<string>
  /**
   * For createClient: attaches the token, refreshes once after a stale-token refusal, and waits as the service demands.
   */
  transport(options?: TransportOptions): Transport
  /**
   * Ends the session at the service and locally. Locally it always ends.
   *
   * @returns Whether the service confirmed it. If not, this client or the next one ends a cookie's session as soon as
   *   the service is reachable; another session expires there, and its token is deleted.
   */
  logout(): Promise<{ readonly endedAtService: boolean }>
  /** Ends every session of the person, in all apps. @returns The number of sessions. */
  logoutAll(options?: { exceptCurrent?: boolean }): Promise<number>
}
