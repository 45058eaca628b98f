// Sign-in over the native side. Tokens stay there.
import type {
  BeginSignIn,
  EmailSignIn,
  LoggedOutReason,
  ProviderSignIn,
  SessionState,
  SignedIn,
  SignedInUser,
  SignInOption,
  SignInOptions,
} from "@signet/client"
import {
  IdentityService,
  type SignedInUser as SignedInUserMessage,
  type SignInOption as SignInOptionMessage,
  type SignInState,
} from "@signet/proto/client/v1/identity_service"
import { callsOf, type RemoteCore } from "../core/messaging/remote/core.ts"
import { answerRefused } from "../core/messaging/remote/from-messages.ts"
import { type AppFetch, fetchOver } from "./app-fetch.ts"
import { toClientError } from "./errors.ts"

/** The identity client of the other platforms, without anything that returns a token. */
export interface NativeIdentity {
  /** The current state, once it is known. */
  readonly current: SessionState
  /** Calls the listener with the current state at once, then with every change. @returns Unsubscribes. */
  subscribe(listener: (state: SessionState) => void): () => void
  /** The app's sign-in methods on this platform, requested from the service on every call. */
  signInOptions(): Promise<readonly SignInOption[]>
  /** Requests a nonce for a provider's SDK. A stolen ID token is useless without the transaction. */
  startSignIn(of: {
    readonly provider: "IDP_A" | "IDP_B"
    readonly connection?: string
    readonly redirectUri?: string
  }): Promise<{ readonly nonce: string; readonly transaction: string }>
  login(signIn: Omit<ProviderSignIn, "profileHints">): Promise<SignedIn>
  loginWithPassword(signIn: EmailSignIn): Promise<SignedIn>
  /** The answer does not reveal whether the address has an account. */
  sendMagicLink(email: string, options?: { readonly redirectUri?: string }): Promise<void>
  /** @param tokenHash From the link, after the person pressed a button. */
  confirmMagicLink(tokenHash: string, options?: SignInOptions): Promise<SignedIn>
  /** Begins a sign-in at a provider's page, which the app opens in the system's browser. */
  beginSignIn(of: Omit<BeginSignIn, "display" | "prompt">): Promise<{ readonly url: string; readonly state: string }>
  /** Accepts the address to which the provider redirected, once. */
  finishSignIn(address: string): Promise<SignedIn & { readonly returnTo: string }>
  /** Ends the session at the service and locally. Locally it always ends. */
  logout(): Promise<{ readonly endedAtService: boolean }>
  /** Ends every session of the person, in all apps. @returns The number of sessions. */
  logoutAll(options?: { readonly exceptCurrent?: boolean }): Promise<number>
  /** Checks the session: the app calls it when it comes to the foreground or online. */
  wake(): Promise<void>
  /** Calls a service of the app with an access token, which the native side attaches. */
  readonly fetch: AppFetch
}

const userFrom = (message: SignedInUserMessage): SignedInUser => {
  const { sessionId, identityId, principalId, primaryEmail, tenantId, contextId } = message
  return {
    ...{ sessionId, identityId, principalId },
    primaryEmail: primaryEmail || undefined,
    tenantId: tenantId || undefined,
    contextId: contextId || undefined,
  }
}

function stateFrom(message: SignInState | undefined): SessionState {
  const { state } = message ?? {}
  if (state?.case === "signedIn") return { is: "signedIn", user: userFrom(state.value) }
  if (state?.case !== "loggedOut") throw answerRefused()
  if (state.value === "") return { is: "starting" }
  // The list of reasons is open: a later service may send others.
  return { is: "loggedOut", reason: state.value as LoggedOutReason }
}

function signedInFrom({ user, created }: { readonly user?: SignedInUserMessage; readonly created: boolean }): SignedIn {
  if (user === undefined) throw answerRefused()
  return { user: userFrom(user), created }
}

const providers = ["IDP_A", "IDP_B", "IDP_C"] as const

const optionFrom = (message: SignInOptionMessage): SignInOption => {
  const { connection, displayName, canRedirect, clientId, authorizationEndpoint, scopes } = message
  const provider = providers.find((one) => one === message.provider) ?? "unknown"
  return { provider, connection, displayName, canRedirect, clientId, authorizationEndpoint, scopes }
}

const scopeOf = ({ tenantId, contextId, invitationCode, cancelDeletion }: SignInOptions) => ({
  ...(tenantId !== undefined && { tenantId }),
  ...(contextId !== undefined && { contextId }),
  ...(invitationCode !== undefined && { invitationCode }),
  ...(cancelDeletion !== undefined && { cancelDeletion }),
})

/** Waits until it is known whether a user is signed in. @throws SignetError, CoreError */
export async function openIdentity(core: RemoteCore): Promise<NativeIdentity> {
  const calls = callsOf(core, IdentityService, toClientError)
  const listeners = new Set<(state: SessionState) => void>()
  let current: SessionState = { is: "starting" }
  core.subscribe(({ event }) => {
    if (event.case !== "signedIn") return
    current = stateFrom(event.value)
    for (const listener of [...listeners]) listener(current)
  })
  const { state } = await calls.ready({})
  current = stateFrom(state)

  return {
    get current() {
      return current
    },
    subscribe(listener) {
      listeners.add(listener)
      listener(current)
      return () => listeners.delete(listener)
    },
    signInOptions: async () => (await calls.signInOptions({})).options.map(optionFrom),
    startSignIn: async (of) => {
      const { nonce, transaction } = await calls.startSignIn(of)
      return { nonce, transaction }
    },
    login: async ({ provider, connection = "", nonce = "", transaction = "", credential, ...scope }) =>
      signedInFrom(await calls.login({ provider, connection, nonce, transaction, credential, scope: scopeOf(scope) })),
    loginWithPassword: async ({ email, password, ...scope }) =>
      signedInFrom(await calls.loginWithPassword({ email, password, scope: scopeOf(scope) })),
    async sendMagicLink(email, { redirectUri = "" } = {}) {
      await calls.sendMagicLink({ email, redirectUri })
    },
    confirmMagicLink: async (tokenHash, scope = {}) =>
      signedInFrom(await calls.confirmMagicLink({ tokenHash, scope: scopeOf(scope) })),
    async beginSignIn({ redirectUri, connection = "", returnTo = "", loginHint = "", ...scope }) {
      const request = { redirectUri, connection, returnTo, loginHint, scope: scopeOf(scope) }
      const { url, state: begun } = await calls.beginSignIn(request)
      return { url, state: begun }
    },
    async finishSignIn(address) {
      const finished = await calls.finishSignIn({ address })
      return { ...signedInFrom(finished), returnTo: finished.returnTo }
    },
    async logout() {
      const { endedAtService } = await calls.logout({})
      return { endedAtService }
    },
    logoutAll: async ({ exceptCurrent = false } = {}) => (await calls.logoutAll({ exceptCurrent })).sessions,
    async wake() {
      await calls.wake({})
    },
    fetch: fetchOver(calls),
  }
}
