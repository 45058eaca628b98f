// Where people come from, for a suite that knows no more than a base URL.
import { createClient } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { AuthService } from "@signet/proto/auth/v1/auth_service"

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
}

/** The people of a server in the development profile: its provider takes anybody's word. */
export function developmentWorld(baseUrl: string, options: WorldOptions = {}): World {
  const { authUrl = baseUrl, audience = "auth" } = options
  const auth = createClient(AuthService, createConnectTransport({ baseUrl: authUrl, httpVersion: "1.1" }))
  const signIn = async (email: string): Promise<SignedIn> => {
    const asked = await fetch(`${authUrl}/dev/idp-a/login-request`, { method: "POST", body: JSON.stringify({ email }) })
    const response = await fetch(`${authUrl}/auth/login/idp-a`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: options.audience === undefined ? await asked.text() : withAudience(await asked.text(), audience),
    })
    const answer = parseSignIn(await response.text(), audience)
    let { accessToken, refreshToken } = answer
    return {
      userId: answer.userId,
      get accessToken() {
        return accessToken
      },
      async refresh() {
        const audiences = options.audience === undefined ? [] : [audience]
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

const withAudience = (request: string, audience: string): string =>
  JSON.stringify({ ...JSON.parse(request), audiences: [audience] })

/** @throws Error when it is no sign-in. */
function parseSignIn(text: string, audience: string): { accessToken: string; refreshToken: string; userId: string } {
  const body = JSON.parse(text)
  const accessToken = body.accessTokens?.[audience] ?? body.accessToken
  const { refreshToken, principal } = body
  if (typeof accessToken === "string" && typeof refreshToken === "string" && typeof principal?.id === "string") {
    return { accessToken, refreshToken, userId: principal.id }
  }
  throw new Error(`no sign-in: ${text.slice(0, 300)}`)
}
