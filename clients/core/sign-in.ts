// Ways of signing in. The call and the writing down are one turn under the lock, so that no refresh of another tab comes
// between them.
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
import type { Keep } from "./keep.ts"
import type { LiveSession } from "./live-session.ts"
import { endAtService } from "./logout.ts"
import type { Note } from "./record.ts"
import { newRetryKey } from "./refresh.ts"
import type { SignedInUser } from "./session.ts"
import { base64url, randomText } from "./text.ts"

type Answer = ExternalLoginResponse | EmailPasswordLoginResponse | ConfirmMagicLinkResponse
type SignIns = Pick<
  Signet,
  "newNonce" | "newPkce" | "startSignIn" | "login" | "loginWithPassword" | "sendMagicLink" | "confirmMagicLink"
>

export interface SignInDeps extends Pick<Platform, "clock" | "random" | "lock"> {
  readonly config: SignetConfig
  readonly audiences: readonly string[]
  readonly client: AuthClient
  readonly keep: Keep
  readonly live: LiveSession
}

const linkNote = "magic link"
/** No sign-out removes this note: it marks the device, not a session. */
const deviceNote = "device token"

export function createSignIns(deps: SignInDeps): SignIns {
  const { config, client, clock, keep, random, lock } = deps
  const common = ({ tenantId, contextId, invitationCode, cancelDeletion }: SignInOptions) => ({
    appId: config.appId,
    platform: WirePlatform[config.platform ?? "WEB"],
    audiences: [...deps.audiences],
    cookieMode: client.isCookie,
    ...(config.device && { device: config.device }),
    ...(tenantId !== undefined && { tenantId }),
    ...(contextId !== undefined && { contextId }),
    ...(invitationCode !== undefined && { invitationCode }),
    ...(cancelDeletion !== undefined && { cancelDeletion }),
  })

  function checkEnabled(provider: EnabledProvider): void {
    if (config.providers.includes(provider)) return
    throw new SignetError("PROVIDER_NOT_ENABLED", `${provider} is not among the providers of this client`)
  }

  /** The sign-in is on the shelf before anybody hears of it; what cannot be kept is ended at the service again. */
  const signIn = (call: () => Promise<Answer>): Promise<SignedIn> =>
    lock.run(async () => {
      const before = await keep.load().catch(() => undefined)
      const answer = await answered(call())
      const { refreshToken, ...received } = checkTokens(client, answer)
      const user = userOf(answer)
      const nowMs = clock.nowMs()
      const tokens = receivedTokens(received, { generation: 1, nowMs })
      const tokensGoodUntilMs = nowMs + received.expiresIn * 1_000
      const record = { user, refreshToken, retryKey: newRetryKey(random), generation: 1, tokensGoodUntilMs }
      const revision = await keep.put(record, "any").catch(async (error: unknown) => {
        await endAtService(deps, refreshToken)
        throw error
      })
      if (revision === undefined) throw new SignetError("STORE_FAILED", "the sign-in could not be written")
      // A cookie has replaced the last one. Nobody waits for this: the session ends by itself, too.
      if (before?.record.refreshToken !== undefined) void endAtService(deps, before.record.refreshToken)
      deps.live.begin({ revision, record }, tokens)
      // Nobody is signed out for want of it. In cookie mode there is none: a cookie carries it.
      const deviceToken = "deviceToken" in answer ? answer.deviceToken : ""
      if (deviceToken !== "") await keep.putNote(deviceNote, { deviceToken }).catch(() => undefined)
      return { user, created: answer.created }
    })

  return {
    newNonce: () => randomText(random, 192),
    newPkce: () => newPkce(deps),

    async startSignIn({ provider, connection = "", redirectUri = "" }) {
      checkEnabled(provider)
      const { appId, platform } = common({})
      const { deviceId = "" } = config.device ?? {}
      const asked = { appId, platform, provider: Provider[provider], connection, deviceId, redirectUri }
      const { nonce, transaction } = await answered(client.startSignIn(asked, callOptions))
      return { nonce, transaction }
    },

    async login({ provider, connection, nonce, transaction, credential, profileHints, ...options }) {
      checkEnabled(provider)
      const note = `profile hints ${provider}`
      const { name, email } = profileHints ?? {}
      const told: Note = { ...(name && { name }), ...(email && { email }) }
      const isTold = Object.keys(told).length > 0
      // The provider does not say it twice: it is kept until the service has it. Nobody is kept out for want of it.
      if (isTold) await keep.putNote(note, told).catch(() => undefined)
      const hints = isTold ? told : await keep.loadNote(note).catch(() => undefined)
      const signedIn = await signIn(() =>
        client.externalLogin(
          {
            ...common(options),
            provider: Provider[provider],
            ...(connection !== undefined && { connection }),
            ...(nonce !== undefined && { nonce }),
            ...(transaction !== undefined && { transaction }),
            ...(hints && { profileHints: hints }),
            credential: credentialOf(credential),
          },
          callOptions,
        ),
      )
      if (hints) await keep.removeNote(note).catch(() => undefined)
      return signedIn
    },

    async loginWithPassword({ email, password, ...options }) {
      checkEnabled("EMAIL_PASSWORD")
      const device = await keep.loadNote(deviceNote).catch(() => undefined)
      const request = { ...common(options), email, password, ...device }
      return signIn(() => client.emailPasswordLogin(request, callOptions))
    },

    async sendMagicLink(email, { redirectUri = config.redirectUri } = {}) {
      checkEnabled("MAGIC_LINK")
      if (redirectUri === undefined) {
        throw new SignetError("CONFIGURATION_INVALID", "a magic link needs a redirectUri")
      }
      const { appId, platform } = common({})
      const pkce = config.requireSameDevice ? await newPkce(deps) : undefined
      if (pkce) await keep.putNote(linkNote, { codeVerifier: pkce.codeVerifier })
      else await keep.removeNote(linkNote).catch(() => undefined)
      const challenge = pkce && { codeChallenge: pkce.codeChallenge }
      await answered(client.startMagicLink({ appId, platform, email, redirectUri, ...challenge }, callOptions))
    },

    async confirmMagicLink(tokenHash, options = {}) {
      checkEnabled("MAGIC_LINK")
      const codeVerifier = (await keep.loadNote(linkNote).catch(() => undefined))?.codeVerifier
      const verifier = codeVerifier !== undefined && { codeVerifier }
      const signedIn = await signIn(() =>
        client.confirmMagicLink({ ...common(options), tokenHash, ...verifier }, callOptions),
      )
      await keep.removeNote(linkNote).catch(() => undefined)
      return signedIn
    },
  }
}

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
    throw new SignetError("ANSWER_INVALID", "the service did not say who has signed in")
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
