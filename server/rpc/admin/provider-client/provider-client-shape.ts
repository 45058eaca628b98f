import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { type ClientValues, completed } from "@signet/kernel/administration/provider-client"
import { Refused } from "@signet/kernel/errors"
import type * as kernel from "@signet/kernel/records"
import {
  type ProviderClient,
  ProviderClient_NonceMode,
  ProviderClient_Status,
  ProviderClientSchema,
} from "@signet/proto/auth/v1/provider_clients"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { encode } from "../../base64url.ts"
import { platformOf, providerOf } from "../../parse.ts"
import { withEtag } from "../etag.ts"

/** A client without its secrets: no call returns them. */
export const providerClientShape = (of: kernel.ProviderClient): MessageInitShape<typeof ProviderClientSchema> =>
  withEtag(
    ProviderClientSchema,
    {
      id: of.id,
      appId: of.appId,
      provider: Provider[of.provider],
      platform: Platform[of.platform],
      status: ProviderClient_Status[of.status],
      clientId: of.clientId,
      issuers: [...of.issuers],
      canonicalIssuer: of.canonicalIssuer,
      audiences: [...of.audiences],
      authorizedParties: [...of.authorizedParties],
      nonceMode: ProviderClient_NonceMode[of.nonceMode],
      requireNonce: of.requireNonce,
      hostedDomains: [...of.hostedDomains],
      signupEnabled: of.signupEnabled,
      redirectUris: [...of.redirectUris],
      jwksUri: of.jwksUri,
      tokenEndpoint: of.tokenEndpoint ?? "",
      hasClientSecret: of.clientSecretSealed !== null,
      providerTenant: of.providerTenant ?? "",
      clientKeyId: of.clientKeyId ?? "",
      revocationEndpoint: of.revocationEndpoint ?? "",
      projectUrl: of.projectUrl ?? "",
      hasTokenSecret: of.tokenSecretSealed !== null,
      connection: of.connection,
      displayName: of.displayName,
      authorizationEndpoint: of.authorizationEndpoint ?? "",
      scopes: [...of.scopes],
      requiresResponseIssuer: of.requiresResponseIssuer,
      createdAt: timestampFromMs(of.createdAtMs),
      updatedAt: timestampFromMs(of.updatedAtMs),
    },
    {
      // A replaced secret is a new version, too.
      clientSecret: encode(of.clientSecretSealed ?? new Uint8Array()),
      tokenSecret: encode(of.tokenSecretSealed ?? new Uint8Array()),
    },
  )

const nonceModes: Record<number, kernel.ProviderClient["nonceMode"]> = {
  [ProviderClient_NonceMode.NONCE_MODE_UNSPECIFIED]: "RAW",
  [ProviderClient_NonceMode.RAW]: "RAW",
  [ProviderClient_NonceMode.SHA256_HEX]: "SHA256_HEX",
  [ProviderClient_NonceMode.SHA256_B64URL]: "SHA256_B64URL",
}

/** Parses the values that a message sets on a client, and fills in defaults. Ignores secrets, preset and output fields. */
export function clientValues(of: ProviderClient): ClientValues {
  return completed(givenValues(of))
}

/** As `clientValues`, without defaults. */
export function givenValues(of: ProviderClient): ClientValues {
  return {
    provider: parsed("provider", () => providerOf(of.provider)),
    platform: parsed("platform", () => platformOf(of.platform)),
    clientId: of.clientId,
    issuers: of.issuers,
    canonicalIssuer: of.canonicalIssuer,
    audiences: of.audiences,
    authorizedParties: of.authorizedParties,
    nonceMode: nonceModes[of.nonceMode] ?? "RAW",
    requireNonce: of.requireNonce,
    hostedDomains: of.hostedDomains,
    signupEnabled: of.signupEnabled,
    redirectUris: of.redirectUris,
    jwksUri: of.jwksUri,
    tokenEndpoint: of.tokenEndpoint || null,
    providerTenant: of.providerTenant || null,
    clientKeyId: of.clientKeyId || null,
    revocationEndpoint: of.revocationEndpoint || null,
    projectUrl: of.projectUrl || null,
    connection: of.connection,
    displayName: of.displayName,
    authorizationEndpoint: of.authorizationEndpoint || null,
    scopes: of.scopes,
    requiresResponseIssuer: of.requiresResponseIssuer,
  }
}

function parsed<T>(field: string, parse: () => T): T {
  try {
    return parse()
  } catch {
    throw new Refused("INVALID_FIELD", { metadata: { field: `provider_client.${field}` } })
  }
}
