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
  /** The provider may be on this machine itself, without TLS: the development profile and tests. */
  isLoopbackAllowed: boolean
  /** Where requests go out; the platform's own when left out. */
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
          // The provider takes the code once, and nobody but us was given this token.
          return { ...vouched, singleUse: null }
        }
      }
    },
  }
}
