// The sign-in calls: options, start, login by each method, and the request of a magic link.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type AppId, parseId } from "@signet/kernel/ids"
import type { AuthService, ExternalLoginRequest } from "@signet/proto/auth/v1/auth_service"
import { encode } from "../../base64url.ts"
import type { Deps } from "../../deps.ts"
import { limit, networkOf } from "../../limit.ts"
import { platformOf, providerOf } from "../../parse.ts"
import { signIn } from "../login.ts"
import { signedInShape } from "./answer.ts"
import { countAndLoadConfiguration, loadConfiguration } from "./configuration.ts"
import { issueDeviceToken, knownDevice } from "./device-token.ts"
import { countingGuesses, emailSubject } from "./guesses.ts"
import { rememberRequest } from "./magic-link.ts"
import { signInOptions } from "./options.ts"
import type { Proof } from "./proof.ts"
import { commonOf } from "./request.ts"
import { startTransaction } from "./transaction.ts"
import { emailProviderOf } from "./vouch.ts"

type Methods =
  | "startSignIn"
  | "listSignInOptions"
  | "externalLogin"
  | "emailPasswordLogin"
  | "startMagicLink"
  | "confirmMagicLink"

export function signInMethods(deps: Deps): Pick<ServiceImpl<typeof AuthService>, Methods> {
  return {
    async listSignInOptions(request, context) {
      await limit(deps, context, "sign_in_options", { ip: networkOf(context) })
      return { options: await signInOptions(deps, appIdOf(request), platformOf(request.platform)) }
    },

    async startSignIn(request, context) {
      await limit(deps, context, "sign_in_options", { ip: networkOf(context) })
      const { connection, deviceId, redirectUri } = request
      const [provider, platform] = [providerOf(request.provider), platformOf(request.platform)]
      const { client } = await loadConfiguration(deps, { appId: appIdOf(request), provider, platform, connection })
      // A provider without OpenID Connect carries no nonce.
      if (deps.providers[provider] === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")
      const { expiresAt, ...started } = startTransaction(deps, client, { deviceId, redirectUri })
      return { ...started, expiresAt: timestampFromMs(expiresAt * 1_000) }
    },

    async externalLogin(request, context) {
      const { deviceId = "" } = request.device ?? {}
      const device = deviceId === "" ? undefined : `${request.appId} ${deviceId}`
      const subjects = { ip: networkOf(context), ...(device && { device }) }
      // Nothing is configured for a malformed id, but the call is counted.
      if (parseId("app", request.appId) === undefined) await limit(deps, context, "login", subjects)
      const { name = "", email = "" } = request.profileHints ?? {}
      const { connection, platform } = request
      const way = { appId: appIdOf(request), provider: providerOf(request.provider), connection }
      const configuration = await countAndLoadConfiguration(deps, context, subjects, {
        ...way,
        platform: platformOf(platform),
      })
      const asked = { ...commonOf(request), ...way, proof: proofOf(request), hints: { name, email } }
      const signedIn = await signIn(deps, context, asked, configuration)
      return signedInShape(deps, context, signedIn)
    },

    async emailPasswordLogin(request, context) {
      const { email, password, cookieMode, deviceToken } = request
      const carrier = { appId: appIdOf(request), email, cookieMode }
      const device = knownDevice(deps, context, { ...carrier, deviceToken })
      const signedIn = await countingGuesses(deps, context, { email, device }, () =>
        signIn(deps, context, {
          ...commonOf(request),
          appId: carrier.appId,
          provider: "IDP_C",
          connection: "",
          proof: { is: "password", email: email.trim(), password },
          hints: {},
        }),
      )
      const shape = signedInShape(deps, context, signedIn)
      return { ...shape, deviceToken: issueDeviceToken(deps, context, carrier, device) }
    },

    async startMagicLink(request, context) {
      const { platform, email, redirectUri, codeChallenge } = request
      const subject = emailSubject(deps, email)
      await limit(deps, context, "magic_link_start", { ip: networkOf(context) })
      const appId = appIdOf(request)
      const way = { appId, provider: "IDP_C", platform: platformOf(platform), connection: "" } as const
      const { app, client } = await loadConfiguration(deps, way)
      // Compared as a whole string (RFC 9700 section 4.1.3): no parser decides where a redirect leads.
      if (!app.settings.allowedRedirectUris.includes(redirectUri)) throw new Refused("REDIRECT_NOT_ALLOWED")
      if (app.settings.requireSameDevice && codeChallenge === "") {
        throw new Refused("INVALID_FIELD", { metadata: { field: "code_challenge" } })
      }
      const emailProvider = emailProviderOf(deps, client)
      // Last: a call that is refused for every address alike must not use up an address's links.
      await limit(deps, context, "magic_link_start", { email: subject, email_day: subject })
      await rememberRequest(deps, { app, client, email, codeChallenge })
      const mayCreate = app.settings.signupEnabled && client.signupEnabled
      // In the background: the duration of sending would reveal whether the address has an account.
      deps.background.run(() => emailProvider.sendMagicLink(client, { email: email.trim(), redirectUri, mayCreate }))
      return {}
    },

    async confirmMagicLink(request, context) {
      const { tokenHash, codeVerifier } = request
      const token = encode(deps.secrets.hash("rate-limit", tokenHash))
      await limit(deps, context, "magic_link_confirm", { ip: networkOf(context), token })
      const signedIn = await signIn(deps, context, {
        ...commonOf(request),
        appId: appIdOf(request),
        provider: "IDP_C",
        connection: "",
        proof: { is: "magicLink", tokenHash, codeVerifier },
        hints: {},
      })
      const { app, email, session } = signedIn
      const carrier = email === null ? undefined : { appId: app.id, email, cookieMode: session.cookieMode }
      const shape = signedInShape(deps, context, signedIn)
      return { ...shape, ...(carrier && { deviceToken: issueDeviceToken(deps, context, carrier) }) }
    },
  }
}

function appIdOf(request: { appId: string }): AppId {
  const appId = parseId("app", request.appId)
  if (appId === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")
  return appId
}

function proofOf({ credential, nonce, transaction, device }: ExternalLoginRequest): Proof {
  const started = { nonce, transaction, deviceId: device?.deviceId ?? "" }
  switch (credential.case) {
    case "idToken":
      return { is: "external", credential: { is: "idToken", idToken: credential.value }, ...started }
    case "authorizationCode": {
      const { code, codeVerifier, redirectUri } = credential.value
      return { is: "external", credential: { is: "code", code, codeVerifier, redirectUri }, ...started }
    }
    case "providerSession":
      return { is: "session", accessToken: credential.value }
    case undefined:
      throw new Refused("INVALID_FIELD", { message: "credential is required", metadata: { field: "credential" } })
  }
}
