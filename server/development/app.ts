// The app of the development profile, and its clients at the stand-in provider.
import { administrationScopes, deviceScopes } from "@signet/kernel/administration/scopes"
import { type AppId, newId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { App, Platform, ProviderClient } from "@signet/kernel/records"
import { developmentAppId, fixed, madeAtMs } from "./app-id.ts"

const day = 86_400

/** An issuer of the development profile: a stand-in provider with its own users. */
export interface DevelopmentIssuer {
  /** The path at which it is mounted. */
  readonly path: string
  /** The connection of the app's clients there. */
  readonly connection: string
  readonly displayName: string
  /** Without a port, so that subjects stay the same when the port changes. */
  readonly canonicalIssuer: string
  readonly clients: (origin: string) => readonly DevelopmentClient[]
}

/** Usual origins of pages under development, besides the server's own origin. */
const usualOrigins = ["localhost", "127.0.0.1"].flatMap((host) =>
  [3000, 4173, 5173].map((port) => `http://${host}:${port}`),
)

/** The server's own origin under each name by which a browser on this machine can reach it. */
export const ownOrigins = (origin: string): readonly string[] => [
  ...new Set([origin, origin.replace("//127.0.0.1:", "//localhost:")]),
]

const pageOrigins = (origin: string): readonly string[] => [...new Set([...ownOrigins(origin), ...usualOrigins])]

/** Redirect URIs at which the command waits for the browser. */
const commandRedirects = ["http://127.0.0.1:8976/callback", "http://127.0.0.1:8977/callback"]

/** Redirect URIs of the console. */
const consoleRedirects = (origin: string) =>
  ownOrigins(origin).flatMap((at) => [`${at}/console/callback`, `${at}/console/chat/callback`])

export interface DevelopmentClient {
  platform: Platform
  clientId: string
  redirectUris: readonly string[]
}

/** @param origin The server's own origin, such as http://127.0.0.1:8080. */
export function developmentClients(origin: string): readonly DevelopmentClient[] {
  const native = ["com.example.notes:/callback"]
  return [
    {
      platform: "WEB",
      clientId: "notes-web",
      redirectUris: [
        ...pageOrigins(origin).map((at) => `${at}/callback`),
        ...consoleRedirects(origin),
        ...commandRedirects,
      ],
    },
    { platform: "ANDROID", clientId: "notes-android", redirectUris: native },
    { platform: "IOS", clientId: "notes-ios", redirectUris: native },
  ]
}

export const idpA: DevelopmentIssuer = {
  path: "/dev/idp-a",
  connection: "",
  displayName: "Stand-in",
  canonicalIssuer: "https://idp-a.invalid",
  clients: developmentClients,
}

/** A second issuer, so that pages can offer a choice of connections. */
export const partner: DevelopmentIssuer = {
  path: "/dev/partner",
  connection: "partner",
  displayName: "Partner stand-in",
  canonicalIssuer: "https://partner.invalid",
  clients: (origin) =>
    developmentClients(origin)
      .filter(({ platform }) => platform === "WEB")
      .map((client) => ({ ...client, clientId: "notes-partner" })),
}

/** @param authAudience The server's own audience. Every user who signs in administers the development app. */
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
      // Administrators hold these by their membership.
      ...administrationScopes.map((key) => ({ key, audience: authAudience, isDefault: false })),
      ...deviceScopes.map((key) => ({ key, audience: messagingAudience, isDefault: false })),
      // A messaging backend's account keeps these scopes when the server restarts.
      ...backends.map((key) => ({ key, audience: authAudience, isDefault: false })),
    ],
    settings: {
      signupEnabled: true,
      sessionIdleSecondsWeb: 14 * day,
      sessionIdleSecondsNative: 30 * day,
      sessionAbsoluteSeconds: 90 * day,
      retryWindowSeconds: 600,
      allowedOrigins: pageOrigins(origin),
      allowedRedirectUris: [
        `${origin}/signed-in`,
        `${origin}/dev/idp-c/link`,
        ...pageOrigins(origin)
          .slice(1)
          .map((usual) => `${usual}/signed-in`),
      ],
      requireSameDevice: false,
      managesIdentity: true,
    },
    isInstallation: false,
    createdAtMs: madeAtMs,
    updatedAtMs: madeAtMs,
  }
}

/** @param webSecret The web client's secret at the provider. Native clients have none. */
export function buildProviderClients(
  origin: string,
  webSecret: string,
  secrets: Pick<Secrets, "seal">,
  of: DevelopmentIssuer = idpA,
): readonly ProviderClient[] {
  const issuer = origin + of.path
  return of.clients(origin).map(({ platform, clientId, redirectUris }, index) => {
    const id = newId("pcl", madeAtMs, fixed(of === partner ? "p" : index + 1))
    return {
      id,
      appId: developmentAppId,
      provider: "IDP_A",
      platform,
      status: "ACTIVE",
      clientId,
      issuers: [issuer],
      canonicalIssuer: of.canonicalIssuer,
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
      connection: of.connection,
      displayName: of.displayName,
      authorizationEndpoint: `${issuer}/auth`,
      scopes: [],
      requiresResponseIssuer: true,
      createdAtMs: madeAtMs,
      updatedAtMs: madeAtMs,
    }
  })
}

/** The stand-in provider's web client for the installation's own app, which only the console uses. */
export function buildInstallationClient(
  origin: string,
  webSecret: string,
  secrets: Pick<Secrets, "seal">,
  appId: AppId,
): ProviderClient {
  const id = newId("pcl", madeAtMs, fixed("i"))
  const sealed = secrets.seal(clientSecretLabel(id), new TextEncoder().encode(webSecret))
  const [web] = buildProviderClients(origin, webSecret, secrets)
  if (web === undefined) throw new Error("the stand-in provider has no web client")
  return { ...web, id, appId, clientSecretSealed: sealed, redirectUris: consoleRedirects(origin) }
}
