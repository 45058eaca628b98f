import type { ServiceImpl } from "@connectrpc/connect"
import type { TokenService } from "@signet/proto/auth/v1/token_service"
import type { Deps } from "./deps.ts"
import { serverMetadata } from "./token/server-metadata.ts"

/** Verifiers may keep the key set for five minutes; a next key is published a day before it signs. */
const keySetCaching = "public, max-age=300, stale-while-revalidate=600"

export function tokenService(deps: Deps): Partial<ServiceImpl<typeof TokenService>> {
  return {
    getJwks(_, context) {
      context.responseHeader.set("cache-control", keySetCaching)
      // Over REST this is the content type of RFC 7517 section 8.5.2; Connect keeps its own.
      if (context.protocolName === "rest") context.responseHeader.set("content-type", "application/jwk-set+json")
      return { keys: deps.keys.jwks().map((key) => ({ ...key })) }
    },

    getAuthorizationServerMetadata(_, context) {
      context.responseHeader.set("cache-control", "public, max-age=300")
      return serverMetadata(deps.issuer)
    },
  }
}
