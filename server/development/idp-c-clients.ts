// Constants shared by the stand-in for IDP_C and the development app's clients there.

import { newId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import { clientSecretLabel, tokenSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { developmentClients } from "./app.ts"
import { developmentAppId, fixed, madeAtMs } from "./app-id.ts"

/** The path at which the stand-in is mounted: the URL of its only project. */
export const idpCPath = "/dev/idp-c"

/** The default target of links in its mails: a page with a button, because mail scanners open links. */
export const linkPath = `${idpCPath}/link`

const projectReference = "devproject"

/** @param tokenSecret The project's signing secret; null if it publishes keys. */
export function buildIdpCClients(
  origin: string,
  project: { secretKey: string; tokenSecret: string | null },
  secrets: Pick<Secrets, "seal">,
): readonly ProviderClient[] {
  const issuer = `${origin}${idpCPath}/auth/v1`
  const encode = (text: string) => new TextEncoder().encode(text)
  return developmentClients(origin).map(({ platform }, index) => {
    const id = newId("pcl", madeAtMs, fixed(index + 7))
    return {
      id,
      appId: developmentAppId,
      provider: "IDP_C",
      platform,
      status: "ACTIVE",
      clientId: projectReference,
      issuers: [issuer],
      // Without the port, so that subjects stay the same when the port changes.
      canonicalIssuer: "https://idp-c.invalid/auth/v1",
      audiences: ["authenticated"],
      authorizedParties: [],
      nonceMode: "RAW",
      requireNonce: false,
      hostedDomains: [],
      signupEnabled: true,
      redirectUris: [],
      jwksUri: `${issuer}/.well-known/jwks.json`,
      tokenEndpoint: null,
      clientSecretSealed: secrets.seal(clientSecretLabel(id), encode(project.secretKey)),
      providerTenant: projectReference,
      clientKeyId: null,
      revocationEndpoint: null,
      projectUrl: origin + idpCPath,
      tokenSecretSealed:
        project.tokenSecret === null ? null : secrets.seal(tokenSecretLabel(id), encode(project.tokenSecret)),
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
