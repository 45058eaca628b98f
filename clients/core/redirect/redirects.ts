// Sign-in with a redirect to a provider (OAuth authorization code with PKCE). The client creates and stores `state` and
// the code verifier; the service creates the nonce and exchanges the code.
import { Provider, Platform as WirePlatform } from "@signet/proto/auth/v1/records"
import { type AuthClient, answered, callOptions } from "../auth-calls.ts"
import type {
  BeginSignIn,
  Callback,
  Platform,
  ProviderSignIn,
  SignedIn,
  Signet,
  SignetConfig,
  SignInOption,
} from "../client.ts"
import { SignetError } from "../errors.ts"
import type { SessionStore } from "../session-store.ts"
import { base64url, randomText } from "../text.ts"
import { codeOf, forged, parseAnswer } from "./answer.ts"
import { createPendingSignIns } from "./pending.ts"
import { authorizationUrl, carriedNonce } from "./request.ts"
import { checkReturnPath } from "./return-path.ts"

interface RedirectDeps extends Pick<Platform, "clock" | "random"> {
  readonly config: SignetConfig
  readonly client: AuthClient
  readonly sessions: SessionStore
  readonly startSignIn: Signet["startSignIn"]
  readonly login: (signIn: ProviderSignIn) => Promise<SignedIn>
}

type Listed = Awaited<ReturnType<AuthClient["listSignInOptions"]>>["options"][number]

export function createRedirects(deps: RedirectDeps): Pick<Signet, "signInOptions" | "beginSignIn" | "openCallback"> {
  const { client, config, random, clock, sessions, login, startSignIn } = deps
  const pendingSignIns = createPendingSignIns({ sessions, clock })

  async function list(): Promise<readonly Listed[]> {
    const platform = WirePlatform[config.platform ?? "WEB"]
    const { options } = await answered(client.listSignInOptions({ appId: config.appId, platform }, callOptions))
    return options
  }

  async function beginSignIn(of: BeginSignIn): Promise<{ url: string; state: string }> {
    const {
      connection,
      redirectUri,
      returnTo = "/",
      display = "page",
      loginHint,
      prompt,
      maxAgeSeconds,
      ...options
    } = of
    checkReturnPath(returnTo)
    const option = selectOption(await list(), connection)
    const started = { provider: "IDP_A", connection: option.connection, redirectUri } as const
    const { nonce, transaction } = await startSignIn(started)
    const [state, codeVerifier] = [randomText(random, 192), randomText(random, 256)]
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(codeVerifier))
    const url = authorizationUrl({
      ...{ authorizationEndpoint: option.authorizationEndpoint, clientId: option.clientId, scopes: option.scopes },
      ...{ redirectUri, state, loginHint, prompt, maxAgeSeconds, codeChallenge: base64url(new Uint8Array(digest)) },
      nonce: await carriedNonce(option.nonceMode, nonce),
    })
    await pendingSignIns.put({
      ...{ state, nonce, transaction, codeVerifier, redirectUri, returnTo, display, options },
      ...{ createdAtMs: clock.nowMs(), connection: option.connection },
      ...{ issuers: [...option.issuers], requiresIssuer: option.requiresResponseIssuer },
    })
    return { url, state }
  }

  async function openCallback(address: string): Promise<Callback | undefined> {
    const answer = parseAnswer(address)
    if (answer === undefined) return undefined
    const pending = await pendingSignIns.take(answer.state)
    if (pending === undefined) throw forged()
    const { state, returnTo, display, nonce, transaction, connection, codeVerifier, redirectUri, options } = pending
    return {
      ...{ state, returnTo: checkReturnPath(returnTo), display },
      async finish() {
        const credential = { code: codeOf(answer, address, pending), codeVerifier, redirectUri }
        return login({ ...options, provider: "IDP_A", connection, nonce, transaction, credential })
      },
    }
  }

  return { signInOptions: async () => (await list()).map(toSignInOption), beginSignIn, openCallback }
}

/** Selects the connection for the redirect, by the same rules as the service. */
function selectOption(options: readonly Listed[], name: string | undefined): Listed {
  const redirecting = options.filter((each) => each.provider === Provider.IDP_A && each.authorizationEndpoint !== "")
  const [first, ...others] = redirecting
  const names = redirecting.map(({ connection }) => connection).join(",")
  if (first === undefined) {
    throw new SignetError(
      "PROVIDER_NOT_ENABLED",
      "the app has no connection with an authorization endpoint on this platform: set it in its provider client",
    )
  }
  const found = redirecting.find(({ connection }) => connection === (name ?? ""))
  if (found !== undefined) return found
  if (name !== undefined && name !== "") {
    const message = `the app has no connection ${JSON.stringify(name)} to redirect to; it has: ${names}`
    throw new SignetError("CONNECTION_UNKNOWN", message, { metadata: { connections: names } })
  }
  if (others.length === 0) return first
  const message = `the app has several connections: name one of ${names}`
  throw new SignetError("CONNECTION_REQUIRED", message, { metadata: { connections: names } })
}

function toSignInOption(option: Listed): SignInOption {
  const { connection, displayName, clientId, authorizationEndpoint, scopes } = option
  return {
    ...{ connection, displayName, clientId, authorizationEndpoint, scopes: [...scopes] },
    provider: providers[option.provider] ?? "unknown",
    canRedirect: option.provider === Provider.IDP_A && authorizationEndpoint !== "",
  }
}

const providers: Readonly<Record<number, SignInOption["provider"]>> = {
  [Provider.IDP_A]: "IDP_A",
  [Provider.IDP_B]: "IDP_B",
  [Provider.IDP_C]: "IDP_C",
}
