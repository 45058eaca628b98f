// The source of users, for a suite that only knows a base URL.
import { Agent } from "node:http"
import { fromJsonString } from "@bufbuild/protobuf"
import { createClient } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { AuthService, ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { Provider } from "@signet/proto/auth/v1/records"
import { patient, type WaitForLimit } from "./patient.ts"

/** A signed-in user. */
export interface SignedIn {
  /** `prn_…` */
  readonly userId: string
  /** The newest access token. */
  readonly accessToken: string
  /** Returns a new access token of the same session. */
  refresh(): Promise<string>
  /** Starts another session of the same user. */
  again(): Promise<SignedIn>
}

/** A sign-in shared by concurrent users of it: refreshes run one after the other. */
export function together(person: SignedIn): SignedIn {
  let turn = Promise.resolve("")
  return {
    userId: person.userId,
    get accessToken() {
      return person.accessToken
    },
    refresh() {
      turn = turn.then(() => person.refresh())
      return turn
    },
    again: person.again,
  }
}

/** A running server with a way to create users. */
export interface World {
  readonly baseUrl: string
  /** Creates a new user. */
  newUser(): Promise<SignedIn>
}

interface WorldOptions {
  /** URL of the auth server, if it is another server. */
  readonly authUrl?: string | undefined
  /** Audience of the tokens, if it is not the server's default. */
  readonly audience?: string | undefined
  /** Local address for the next user's sign-in; undefined for the system's choice. */
  readonly nextAddress?: (() => string | undefined) | undefined
  /** Without it a rate limit fails the call. */
  readonly waitForLimit?: WaitForLimit | undefined
}

/** Users of a server in the development profile, whose provider authenticates nobody. */
export function developmentWorld(baseUrl: string, options: WorldOptions = {}): World {
  const { authUrl = baseUrl, audience = "auth", nextAddress, waitForLimit } = options
  const audiences = options.audience === undefined ? [] : [audience]
  const clientFrom = (localAddress: string | undefined) => {
    const nodeOptions = localAddress === undefined ? {} : { agent: new Agent({ localAddress }) }
    const transport = createConnectTransport({ baseUrl: authUrl, httpVersion: "1.1", nodeOptions })
    return createClient(AuthService, waitForLimit ? patient(transport, waitForLimit) : transport)
  }
  const signIn = async (email: string): Promise<SignedIn> => {
    const auth = clientFrom(nextAddress?.())
    const asked = await fetch(`${authUrl}/dev/idp-a/login-request`, { method: "POST", body: JSON.stringify({ email }) })
    const login = fromJsonString(ExternalLoginRequestSchema, await asked.text())
    const answer = await auth.externalLogin({ ...login, provider: Provider.IDP_A, audiences })
    let { refreshToken } = answer
    let accessToken = answer.accessTokens[audience] ?? answer.accessToken
    return {
      userId: answer.principal?.id ?? "",
      get accessToken() {
        return accessToken
      },
      async refresh() {
        const next = await auth.refresh({ refreshToken, audiences })
        refreshToken = next.refreshToken
        accessToken = next.accessTokens[audience] ?? accessToken
        return accessToken
      },
      again: () => signIn(email),
    }
  }
  return { baseUrl, newUser: () => signIn(`${crypto.randomUUID()}@example.com`) }
}
