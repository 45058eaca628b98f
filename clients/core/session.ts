// What an app sees of a sign-in.
import type { Transport } from "@connectrpc/connect"
import type { LoggedOutReason } from "./errors.ts"
import type { Wire } from "./ports.ts"

export interface SignedInUser {
  readonly sessionId: string
  readonly identityId: string
  readonly principalId: string
  /** As the provider verified it; never a key. */
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
  /** Of the token that is attached. Default: the auth service's own. */
  readonly audience?: string
  /** Of the service, without a slash at the end. Default: the auth service. */
  readonly baseUrl?: string
  /** The protocol. Default: Connect. */
  readonly wire?: Wire
}

/** The current value first, then every change. */
export interface Session extends AsyncIterable<SessionState> {
  readonly current: SessionState
  /** Resolves when it is known whether anybody is signed in. */
  readonly ready: Promise<void>
  /** Hears the current value at once, then every change. @returns Ends it. */
  subscribe(listener: (state: SessionState) => void): () => void
  /**
   * A token that is good for a while, refreshed when it must be. Keep it nowhere: ask again for each call.
   *
   * @param audience Default: the auth service's own.
   * @throws SignetError NOT_SIGNED_IN, UNREACHABLE, AUDIENCE_NOT_REGISTERED, and what ended the session.
   */
  accessToken(audience?: string): Promise<string>
  /**
   * A newer token than the one that there is: for when the service would say something else in it now. Asked for again
   * within five seconds, it is the same one.
   */
  renewedToken(audience?: string): Promise<string>
  /** For createClient: attaches the token, refreshes once when it is refused as stale, waits where the service says so. */
  transport(options?: TransportOptions): Transport
  /**
   * Ends the session at the service and here. Here it ends in any case.
   *
   * @returns Whether the service said so. When it did not: a cookie's session is ended as soon as the service is reached,
   * by this client or the next; another ends there by its limits, and nobody has its token.
   */
  logout(): Promise<{ readonly endedAtService: boolean }>
  /** Ends every session of the person, in all apps. @returns How many there were. */
  logoutAll(options?: { exceptCurrent?: boolean }): Promise<number>
}
