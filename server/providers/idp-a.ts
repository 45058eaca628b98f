// IDP_A: an OpenID provider whose apps send an ID token, or a code with its PKCE verifier.

import type { IdentityProvider } from "@signet/kernel/identity/provider-ports"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import { type Fetch, outbound } from "./bounded-request.ts"
import { exchangeCode } from "./code-exchange.ts"
import { verifyIdToken } from "./id-token.ts"
import { createProviderKeys } from "./provider-keys.ts"

interface IdpADeps {
  clock: Clock
  secrets: Pick<Secrets, "digest" | "open">
  /** Allows a provider at a loopback address without TLS: for the development profile and tests. */
  isLoopbackAllowed: boolean
  /** Default: the platform's `fetch`. */
  fetch?: Fetch
}

export function createIdpA(deps: IdpADeps): IdentityProvider {
  const out = outbound(deps)
  const keys = createProviderKeys({ ...out, clock: deps.clock })
  const idTokenDeps = { keys, clock: deps.clock, secrets: deps.secrets, algorithms: ["RS256", "ES256"] as const }
  return {
    async verify(client, credential, nonce) {
      switch (credential.is) {
        case "idToken":
          return verifyIdToken(idTokenDeps, client, credential.idToken, nonce)
        case "code": {
          const idToken = await exchangeCode({ ...out, secrets: deps.secrets }, client, credential)
          const vouched = await verifyIdToken(idTokenDeps, client, idToken, nonce)
          // The provider accepts a code once, and only this server received the token.
          return { ...vouched, singleUse: null }
        }
      }
    },
  }
}
