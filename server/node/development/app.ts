// The app that the development profile starts with, and its clients at the stand-in provider.
import { clientSecretLabel } from "@signet/kernel/identity/provider-client"
import { newId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/key-ports"
import type { App, Platform, ProviderClient } from "@signet/kernel/records"

const day = 86_400
export const madeAtMs = Date.UTC(2026, 0, 1)
/** The same at every start and on every machine, so that examples can name it. */
export const fixed = (last: number) => new TextEncoder().encode(`signetdev${last}`)

export const developmentAppId = newId("app", madeAtMs, fixed(0))

/** Where the stand-in provider is mounted. */
export const idpPath = "/dev/idp-a"

/** Where pages of an app under development usually are, besides the service's own origin. */
const usualOrigins = ["http://localhost:3000", "http://localhost:5173", "http://127.0.0.1:5173"]

/** Where the command waits for the browser that it has opened. */
const commandRedirects = ["http://127.0.0.1:8976/callback", "http://127.0.0.1:8977/callback"]

export interface DevelopmentClient {
  platform: Platform
  clientId: string
  redirectUris: readonly string[]
}

/** @param origin Of the service itself, such as http://127.0.0.1:8080. */
export function developmentClients(origin: string): readonly DevelopmentClient[] {
  const native = ["com.example.notes:/callback"]
  return [
    {
      platform: "WEB",
      clientId: "notes-web",
      redirectUris: [...[origin, ...usualOrigins].map((at) => `${at}/callback`), ...commandRedirects],
    },
    { platform: "ANDROID", clientId: "notes-android", redirectUris: native },
    { platform: "IOS", clientId: "notes-ios", redirectUris: native },
  ]
}

/** @param authAudience The service's own audience. Everybody who signs in administers the development app. */
export function buildDevelopmentApp(origin: string, authAudience: string, messagingAudience = authAudience): App {
  const administration = ["service_accounts.read", "service_accounts.write", "delegation.write", "introspect"]
  const backends = ["auth.messaging.backend", "auth.revocations.read"]
  return {
    id: developmentAppId,
    name: "Notes (development)",
    status: "ACTIVE",
    audiences: [...new Set(["svc-notes", messagingAudience])].filter((audience) => audience !== authAudience),
    scopes: [
      { key: "notes.read", audience: "svc-notes", isDefault: true },
      { key: "notes.write", audience: "svc-notes", isDefault: true },
      { key: "messaging.read", audience: messagingAudience, isDefault: true },
      { key: "messaging.write", audience: messagingAudience, isDefault: true },
      ...administration.map((name) => ({ key: `auth.${name}`, audience: authAudience, isDefault: true })),
      // A messaging backend's account keeps them when the server is started again.
      ...backends.map((key) => ({ key, audience: authAudience, isDefault: false })),
    ],
    settings: {
      signupEnabled: true,
      sessionIdleSecondsWeb: 14 * day,
      sessionIdleSecondsNative: 30 * day,
      sessionAbsoluteSeconds: 90 * day,
      retryWindowSeconds: 600,
      allowedOrigins: [origin, ...usualOrigins],
      allowedRedirectUris: [
        `${origin}/signed-in`,
        `${origin}/dev/idp-c/link`,
        ...usualOrigins.map((usual) => `${usual}/signed-in`),
      ],
      requireSameDevice: false,
      managesIdentity: true,
    },
    isInstallation: false,
    createdAtMs: madeAtMs,
    updatedAtMs: madeAtMs,
  }
}

/** @param webSecret The web client's secret at the provider; the native clients have none. */
export function buildProviderClients(
  origin: string,
  webSecret: string,
  secrets: Pick<Secrets, "seal">,
): readonly ProviderClient[] {
  const issuer = origin + idpPath
  return developmentClients(origin).map(({ platform, clientId, redirectUris }, index) => {
    const id = newId("pcl", madeAtMs, fixed(index + 1))
    return {
      id,
      appId: developmentAppId,
      provider: "IDP_A",
      platform,
      status: "ACTIVE",
      clientId,
      issuers: [issuer],
      // Without the port, so that people stay who they are when the port is another.
      canonicalIssuer: "https://idp-a.invalid",
      audiences: [clientId],
      authorizedParties: [clientId],
      nonceMode: "RAW",
      requireNonce: true,
      hostedDomains: [],
      signupEnabled: true,
      redirectUris,
      jwksUri: `${issuer}/jwks`,
      tokenEndpoint: `${issuer}/token`,
      clientSecretSealed:
        platform === "WEB" ? secrets.seal(clientSecretLabel(id), new TextEncoder().encode(webSecret)) : null,
      providerTenant: null,
      clientKeyId: null,
      revocationEndpoint: null,
      projectUrl: null,
      tokenSecretSealed: null,
      createdAtMs: madeAtMs,
      updatedAtMs: madeAtMs,
    }
  })
}
