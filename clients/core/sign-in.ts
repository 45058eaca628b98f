// The sign-in methods. Call and write happen under one lock, so that no refresh of another tab happens in between.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  ConfirmMagicLinkResponse,
  EmailPasswordLoginResponse,
  ExternalLoginRequestSchema,
  ExternalLoginResponse,
} from "@signet/proto/auth/v1/auth_service"
import { Provider, Platform as WirePlatform } from "@signet/proto/auth/v1/records"
import { receivedTokens } from "./access-tokens.ts"
import { type AuthClient, answered, callOptions, checkTokens } from "./auth-calls.ts"
import type { EnabledProvider, Platform, SignedIn, Signet, SignetConfig, SignInOptions } from "./client.ts"
import { SignetError } from "./errors.ts"
import type { LiveSession } from "./live-session.ts"
import { endAtService } from "./logout.ts"
import type { Note } from "./record.ts"
import { newRetryKey } from "./refresh.ts"
import type { SignedInUser } from "./session.ts"
import type { SessionStore } from "./session-store.ts"
import { base64url, randomText } from "./text.ts"

type Answer = ExternalLoginResponse | EmailPasswordLoginResponse | ConfirmMagicLinkResponse
type SignIns = Pick<
  Signet,
  "newNonce" | "newPkce" | "startSignIn" | "login" | "loginWithPassword" | "sendMagicLink" | "confirmMagicLink"
>

interface SignInDeps extends Pick<Platform, "clock" | "random" | "lock"> {
  readonly config: SignetConfig
  readonly audiences: readonly string[]
  readonly client: AuthClient
  readonly sessions: SessionStore
  readonly live: LiveSession
}

const linkNote = "magic link"
/** No sign-out removes this note: it marks the device, not a session. */
const deviceNote = "device token"

export function createSignIns(deps: SignInDeps): SignIns {
  const { config, client, sessions, random } = deps

  return {
    newNonce: () => randomText(random, 192),
    newPkce: () => newPkce(deps),

    async startSignIn({ provider, connection = "", redirectUri = "" }) {
      checkEnabled(deps, provider)
      const { appId, platform } = requestOf(deps, {})
      const { deviceId = "" } = config.device ?? {}
      const asked = { appId, platform, provider: Provider[provider], connection, deviceId, redirectUri }
      const { nonce, transaction } = await answered(client.startSignIn(asked, callOptions))
      return { nonce, transaction }
    },

    login: (options) => loginWithProvider(deps, options),

    async loginWithPassword({ email, password, ...options }) {
      checkEnabled(deps, "EMAIL_PASSWORD")
      const device = await sessions.loadNote(deviceNote).catch(() => undefined)
      const request = { ...requestOf(deps, options), email, password, ...device }
      return signIn(deps, () => client.emailPasswordLogin(request, callOptions))
    },

    async sendMagicLink(email, { redirectUri = config.redirectUri } = {}) {
      checkEnabled(deps, "MAGIC_LINK")
      if (redirectUri === undefined) {
        throw new SignetError("CONFIGURATION_INVALID", "a magic link needs a redirectUri")
      }
      const { appId, platform } = requestOf(deps, {})
      const pkce = config.requireSameDevice ? await newPkce(deps) : undefined
      if (pkce) await sessions.putNote(linkNote, { codeVerifier: pkce.codeVerifier })
      else await sessions.removeNote(linkNote).catch(() => undefined)
      const challenge = pkce && { codeChallenge: pkce.codeChallenge }
      await answered(client.startMagicLink({ appId, platform, email, redirectUri, ...challenge }, callOptions))
    },

    async confirmMagicLink(tokenHash, options = {}) {
      checkEnabled(deps, "MAGIC_LINK")
      const codeVerifier = (await sessions.loadNote(linkNote).catch(() => undefined))?.codeVerifier
      const verifier = codeVerifier !== undefined && { codeVerifier }
      const request = { ...requestOf(deps, options), tokenHash, ...verifier }
      const signedIn = await signIn(deps, () => client.confirmMagicLink(request, callOptions))
      await sessions.removeNote(linkNote).catch(() => undefined)
      return signedIn
    },
  }
}

function checkEnabled({ config }: SignInDeps, provider: EnabledProvider): void {
  if (config.providers.includes(provider)) return
  throw new SignetError("PROVIDER_NOT_ENABLED", `${provider} is not among the providers of this client`)
}

/** The fields that every sign-in has. */
const requestOf = (
  { config, client, audiences }: SignInDeps,
  { tenantId, contextId, invitationCode, cancelDeletion }: SignInOptions,
) => ({
  appId: config.appId,
  platform: WirePlatform[config.platform ?? "WEB"],
  audiences: [...audiences],
  cookieMode: client.isCookie,
  ...(config.device && { device: config.device }),
  ...(tenantId !== undefined && { tenantId }),
  ...(contextId !== undefined && { contextId }),
  ...(invitationCode !== undefined && { invitationCode }),
  ...(cancelDeletion !== undefined && { cancelDeletion }),
})

async function loginWithProvider(
  deps: SignInDeps,
  { provider, connection, nonce, transaction, credential, profileHints, ...options }: Parameters<Signet["login"]>[0],
): Promise<SignedIn> {
  const { client, sessions } = deps
  checkEnabled(deps, provider)
  const note = `profile hints ${provider}`
  const { name, email } = profileHints ?? {}
  const given: Note = { ...(name && { name }), ...(email && { email }) }
  const isGiven = Object.keys(given).length > 0
  // The provider states them once: they are stored until the service has them. A sign-in does not fail without them.
  if (isGiven) await sessions.putNote(note, given).catch(() => undefined)
  const hints = isGiven ? given : await sessions.loadNote(note).catch(() => undefined)
  const request = {
    ...requestOf(deps, options),
    provider: Provider[provider],
    ...(connection !== undefined && { connection }),
    ...(nonce !== undefined && { nonce }),
    ...(transaction !== undefined && { transaction }),
    ...(hints && { profileHints: hints }),
    credential: credentialOf(credential),
  }
  const signedIn = await signIn(deps, () => client.externalLogin(request, callOptions))
  if (hints) await sessions.removeNote(note).catch(() => undefined)
  return signedIn
}

/**
 * Signs in under the lock. The session is stored before the app sees it; one that cannot be stored is ended at the service.
 *
 * @throws SignetError STORE_FAILED, and the reasons of the call.
 */
const signIn = (deps: SignInDeps, call: () => Promise<Answer>): Promise<SignedIn> =>
  deps.lock.run(async () => {
    const { client, clock, sessions, random } = deps
    const before = await sessions.load().catch(() => undefined)
    const answer = await answered(call())
    const { refreshToken, ...received } = checkTokens(client, answer)
    const user = userOf(answer)
    const nowMs = clock.nowMs()
    const tokens = receivedTokens(received, { generation: 1, nowMs })
    const tokensGoodUntilMs = nowMs + received.expiresIn * 1_000
    const record = { user, refreshToken, retryKey: newRetryKey(random), generation: 1, tokensGoodUntilMs }
    const revision = await sessions.put(record, "any").catch(async (error: unknown) => {
      await endAtService(deps, refreshToken)
      throw error
    })
    if (revision === undefined) throw new SignetError("STORE_FAILED", "the sign-in could not be written")
    // A new cookie replaces the old one. A refresh token is ended in the background: it expires, too.
    if (before?.record.refreshToken !== undefined) void endAtService(deps, before.record.refreshToken)
    deps.live.begin({ revision, record }, tokens)
    // A sign-in does not fail without it. In cookie mode a cookie carries it.
    const deviceToken = "deviceToken" in answer ? answer.deviceToken : ""
    if (deviceToken !== "") await sessions.putNote(deviceNote, { deviceToken }).catch(() => undefined)
    return { user, created: answer.created }
  })

async function newPkce({
  random,
}: Pick<SignInDeps, "random">): Promise<{ codeVerifier: string; codeChallenge: string }> {
  const codeVerifier = randomText(random, 256)
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(codeVerifier))
  return { codeVerifier, codeChallenge: base64url(new Uint8Array(digest)) }
}

type Credential = NonNullable<MessageInitShape<typeof ExternalLoginRequestSchema>["credential"]>

function credentialOf(credential: Parameters<Signet["login"]>[0]["credential"]): Credential {
  if ("idToken" in credential) return { case: "idToken", value: credential.idToken }
  if ("providerSession" in credential) return { case: "providerSession", value: credential.providerSession }
  const { code, codeVerifier = "", redirectUri = "" } = credential
  return { case: "authorizationCode", value: { code, codeVerifier, redirectUri } }
}

function userOf({ session, identity, principal, membership }: Answer): SignedInUser {
  if (!session?.id || !identity?.id || !principal?.id) {
    throw new SignetError("ANSWER_INVALID", "the service's answer does not name the signed-in user")
  }
  return {
    sessionId: session.id,
    identityId: identity.id,
    principalId: principal.id,
    primaryEmail: identity.primaryEmail || undefined,
    tenantId: membership?.tenantId || undefined,
    contextId: membership?.contextId || undefined,
  }
}
