// Where people come from, for a suite that knows no more than a base URL.
import { Agent } from "node:http"
import { fromJsonString } from "@bufbuild/protobuf"
import { createClient } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { AuthService, ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { Provider } from "@signet/proto/auth/v1/records"
import { patient, type WaitForLimit } from "./patient.ts"

/** Somebody who is signed in. */
export interface SignedIn {
  /** `prn_…` */
  readonly userId: string
  /** The newest access token. */
  readonly accessToken: string
  /** A new access token of the same session. */
  refresh(): Promise<string>
  /** Another session of the same person. */
  again(): Promise<SignedIn>
}

/** One sign-in that many ask at once: it is refreshed by one after the other. */
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

/** A running server, and a way of getting people on it. */
export interface World {
  readonly baseUrl: string
  /** Somebody who never was here. */
  newUser(): Promise<SignedIn>
}

export interface WorldOptions {
  /** Where people sign in, when that is another server. */
  readonly authUrl?: string | undefined
  /** What tokens are for, when it is not the server of the first audience. */
  readonly audience?: string | undefined
  /** The local address that the next person signs in from; undefined for the system's choice. */
  readonly nextAddress?: (() => string | undefined) | undefined
  /** Without it a rate limit fails the call. */
  readonly waitForLimit?: WaitForLimit | undefined
}

/** The people of a server in the development profile: its provider takes anybody's word. */
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
