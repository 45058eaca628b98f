import type { MessageInitShape } from "@bufbuild/protobuf"
import { canonicalGrants } from "@signet/kernel/token/grant"
import type { GetAuthorizationServerMetadataResponseSchema } from "@signet/proto/auth/v1/token_service"

const clientAuthMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
const signingAlgorithms = ["ES256"]

/**
 * Authorization server metadata (RFC 8414 section 2). There is no authorization endpoint: users sign in by other calls.
 */
export function serverMetadata(issuer: string): MessageInitShape<typeof GetAuthorizationServerMetadataResponseSchema> {
  return {
    issuer,
    tokenEndpoint: tokenEndpointOf(issuer),
    jwksUri: `${issuer}/.well-known/jwks.json`,
    introspectionEndpoint: `${issuer}/auth/token/introspect`,
    revocationEndpoint: `${issuer}/auth/token/revoke`,
    grantTypesSupported: [...canonicalGrants, "pat", "on_behalf_of"],
    // A personal access token is exchanged without a client.
    tokenEndpointAuthMethodsSupported: [...clientAuthMethods, "none"],
    tokenEndpointAuthSigningAlgValuesSupported: signingAlgorithms,
    introspectionEndpointAuthMethodsSupported: clientAuthMethods,
    introspectionEndpointAuthSigningAlgValuesSupported: signingAlgorithms,
    // The holder of a refresh token or a personal access token may revoke it without being a client.
    revocationEndpointAuthMethodsSupported: [...clientAuthMethods, "none"],
    revocationEndpointAuthSigningAlgValuesSupported: signingAlgorithms,
    responseTypesSupported: [],
    statementKeysUri: `${issuer}/.well-known/statement-keys.json`,
    contextKeysUri: `${issuer}/.well-known/context-keys.json`,
  }
}

export const tokenEndpointOf = (issuer: string): string => `${issuer}/auth/token`
