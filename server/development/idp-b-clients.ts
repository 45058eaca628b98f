// Constants shared by the stand-in for IDP_B and the development app's clients there.

import { newId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { Platform, ProviderClient } from "@signet/kernel/records"
import { developmentClients } from "./app.ts"
import { developmentAppId, fixed, madeAtMs } from "./app-id.ts"

/** The path at which the stand-in is mounted. */
export const idpBPath = "/dev/idp-b"

/** Issuers of its tokens: the usual one, and the one that the real provider used for a day. */
export const idpBIssuers = ["https://idp-b.invalid", "https://account.idp-b.invalid"] as const

export const teamId = "DEVTEAM001"
export const clientKeyId = "DEVKEY0001"

/**
 * A services id for pages and Android, which sign in on the provider's page; a bundle id for the system dialog of iOS.
 */
export const servicesId = "com.example.notes.signin"
export const bundleId = "com.example.notes"

export interface IdpBClient {
  platform: Platform
  clientId: string
  redirectUris: readonly string[]
  /** Pages send the provider the nonce itself; apps on the device send its hash. */
  nonceMode: ProviderClient["nonceMode"]
}

/** @param origin The server's own origin, such as http://127.0.0.1:8080. */
export function idpBClients(origin: string): readonly IdpBClient[] {
  const redirectUris = developmentClients(origin).find(({ platform }) => platform === "WEB")?.redirectUris ?? []
  return [
    { platform: "WEB", clientId: servicesId, redirectUris, nonceMode: "RAW" },
    { platform: "ANDROID", clientId: servicesId, redirectUris, nonceMode: "RAW" },
    { platform: "IOS", clientId: bundleId, redirectUris: [], nonceMode: "SHA256_HEX" },
  ]
}

/**
 * @param origin The origin at which the stand-in is mounted.
 * @param clientKey The team's P-256 key, PKCS #8 in PEM.
 */
export function buildIdpBClients(
  origin: string,
  clientKey: string,
  secrets: Pick<Secrets, "seal">,
): readonly ProviderClient[] {
  const at = origin + idpBPath
  return idpBClients(origin).map(({ platform, clientId, redirectUris, nonceMode }, index) => {
    const id = newId("pcl", madeAtMs, fixed(index + 4))
    return {
      id,
      appId: developmentAppId,
      provider: "IDP_B",
      platform,
      status: "ACTIVE",
      clientId,
      issuers: idpBIssuers,
      canonicalIssuer: idpBIssuers[0],
      audiences: [clientId],
      authorizedParties: [clientId],
      nonceMode,
      requireNonce: true,
      hostedDomains: [],
      signupEnabled: true,
      redirectUris,
      jwksUri: `${at}/auth/keys`,
      tokenEndpoint: `${at}/auth/token`,
      clientSecretSealed: secrets.seal(clientSecretLabel(id), new TextEncoder().encode(clientKey)),
      providerTenant: teamId,
      clientKeyId,
      revocationEndpoint: `${at}/auth/revoke`,
      projectUrl: null,
      tokenSecretSealed: null,
      connection: "",
      displayName: "",
      authorizationEndpoint: null,
      scopes: [],
      requiresResponseIssuer: false,
      createdAtMs: madeAtMs,
      updatedAtMs: madeAtMs,
    }
  })
}
