// IdentityService over the identity client.
import type { EnabledProvider, SessionState, SignedIn, SignedInUser, Signet, SignetConfig } from "@signet/client"
import type {
  Credential,
  IdentityOptions,
  IdentityService,
  SignInScope,
} from "@signet/proto/client/v1/identity_service"
import { ArgumentError } from "../failure.ts"
import { appFetch } from "./app-fetch.ts"
import type { Handlers } from "./handlers.ts"

/** The configuration of the identity client. @throws ArgumentError */
export function configFrom(options: IdentityOptions): SignetConfig {
  const { appId, authBaseUrl, providers, audiences, authAudience, platform, redirectUri } = options
  return {
    ...{ appId, authBaseUrl, audiences, providers: providers.map((one) => oneOf("providers", one, enabled)) },
    ...(authAudience !== "" && { authAudience }),
    ...(platform !== "" && { platform: oneOf("platform", platform, ["WEB", "ANDROID", "IOS"] as const) }),
    ...(redirectUri !== "" && { redirectUri }),
  }
}

const enabled = ["IDP_A", "IDP_B", "IDP_C", "EMAIL_PASSWORD", "MAGIC_LINK"] as const satisfies EnabledProvider[]

function oneOf<const T extends string>(field: string, value: string, all: readonly T[]): T {
  const found = all.find((one) => one === value)
  if (found === undefined) throw new ArgumentError(`${field} must be one of ${all.join(", ")}`)
  return found
}

export function identityHandlers(
  signet: Signet,
  options: IdentityOptions,
): Handlers<(typeof IdentityService)["method"]> {
  const { session } = signet
  const fetch = appFetch(session, options)
  return {
    async ready() {
      await session.ready
      return { state: stateTo(session.current) }
    },
    async signInOptions() {
      const found = await signet.signInOptions()
      return { options: found.map((option) => ({ ...option, scopes: [...option.scopes] })) }
    },
    startSignIn: ({ provider, connection, redirectUri }) =>
      signet.startSignIn({
        provider: oneOf("provider", provider, ["IDP_A", "IDP_B"]),
        ...(connection !== "" && { connection }),
        ...(redirectUri !== "" && { redirectUri }),
      }),
    login: async ({ provider, connection, nonce, transaction, credential, scope }) =>
      signedInTo(
        await signet.login({
          ...scopeFrom(scope),
          provider: oneOf("provider", provider, ["IDP_A", "IDP_B", "IDP_C"]),
          ...(connection !== "" && { connection }),
          ...(nonce !== "" && { nonce }),
          ...(transaction !== "" && { transaction }),
          credential: credentialFrom(credential),
        }),
      ),
    loginWithPassword: async ({ email, password, scope }) =>
      signedInTo(await signet.loginWithPassword({ ...scopeFrom(scope), email, password })),
    async sendMagicLink({ email, redirectUri }) {
      await signet.sendMagicLink(email, redirectUri === "" ? {} : { redirectUri })
      return {}
    },
    confirmMagicLink: async ({ tokenHash, scope }) =>
      signedInTo(await signet.confirmMagicLink(tokenHash, scopeFrom(scope))),
    beginSignIn: ({ connection, redirectUri, returnTo, scope, loginHint }) =>
      signet.beginSignIn({
        ...scopeFrom(scope),
        redirectUri,
        ...(connection !== "" && { connection }),
        ...(returnTo !== "" && { returnTo }),
        ...(loginHint !== "" && { loginHint }),
      }),
    async finishSignIn({ address }) {
      if (!URL.canParse(address))
        throw new ArgumentError("address must be an https URL, or http for a loopback address")
      const callback = await signet.openCallback(address)
      if (callback === undefined) throw new ArgumentError("address has neither a code nor an error of a provider")
      return { ...signedInTo(await callback.finish()), returnTo: callback.returnTo }
    },
    logout: () => session.logout(),
    logoutAll: async ({ exceptCurrent }) => ({ sessions: await session.logoutAll({ exceptCurrent }) }),
    async wake() {
      signet.wake()
      return {}
    },
    fetch,
  }
}

/** Undefined before the store was read. */
export function stateTo(state: SessionState) {
  if (state.is === "signedIn") return { state: { case: "signedIn", value: userTo(state.user) } as const }
  return { state: { case: "loggedOut", value: state.is === "loggedOut" ? state.reason : "" } as const }
}

const userTo = ({ sessionId, identityId, principalId, primaryEmail, tenantId, contextId }: SignedInUser) => ({
  ...{ sessionId, identityId, principalId },
  ...{ primaryEmail: primaryEmail ?? "", tenantId: tenantId ?? "", contextId: contextId ?? "" },
})

const signedInTo = ({ user, created }: SignedIn) => ({ user: userTo(user), created })

const scopeFrom = (scope: SignInScope | undefined) => ({
  ...(scope?.tenantId && { tenantId: scope.tenantId }),
  ...(scope?.contextId && { contextId: scope.contextId }),
  ...(scope?.invitationCode && { invitationCode: scope.invitationCode }),
  ...(scope?.cancelDeletion && { cancelDeletion: true }),
})

function credentialFrom(credential: Credential | undefined): Parameters<Signet["login"]>[0]["credential"] {
  const { idToken = "", code = "", codeVerifier, redirectUri, providerSession = "" } = credential ?? {}
  if ([idToken, code, providerSession].filter((one) => one !== "").length !== 1) {
    throw new ArgumentError("credential must have exactly one of id_token, code and provider_session")
  }
  if (idToken !== "") return { idToken }
  if (providerSession !== "") return { providerSession }
  return { code, ...(codeVerifier && { codeVerifier }), ...(redirectUri && { redirectUri }) }
}
