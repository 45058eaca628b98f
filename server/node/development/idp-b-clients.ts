// What the stand-in for IDP_B and the development app's clients of it have agreed on.

import { newId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { Platform, ProviderClient } from "@signet/kernel/records"
import { developmentAppId, developmentClients, fixed, madeAtMs } from "./app.ts"

/** Where the stand-in is mounted. */
export const idpBPath = "/dev/idp-b"

/** Who its tokens say they are of: the first, and, since the provider changed its mind for a day, the second. */
export const idpBIssuers = ["https://idp-b.invalid", "https://account.idp-b.invalid"] as const

export const teamId = "DEVTEAM001"
export const clientKeyId = "DEVKEY0001"

/** A services id for pages and Android, which sign in on the provider's page; a bundle id for the device's own sheet. */
export const servicesId = "com.example.notes.signin"
export const bundleId = "com.example.notes"

export interface IdpBClient {
  platform: Platform
  clientId: string
  redirectUris: readonly string[]
  /** Pages give the provider the nonce; apps on the device give its hash. */
  nonceMode: ProviderClient["nonceMode"]
}

/** @param origin Of the service itself, such as http://127.0.0.1:8080. */
export function idpBClients(origin: string): readonly IdpBClient[] {
  const redirectUris = developmentClients(origin).find(({ platform }) => platform === "WEB")?.redirectUris ?? []
  return [
    { platform: "WEB", clientId: servicesId, redirectUris, nonceMode: "RAW" },
    { platform: "ANDROID", clientId: servicesId, redirectUris, nonceMode: "RAW" },
    { platform: "IOS", clientId: bundleId, redirectUris: [], nonceMode: "SHA256_HEX" },
  ]
}

/**
 * @param origin Where the stand-in is mounted.
 * @param clientKey The P-256 key of the team, PKCS #8 in PEM.
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
