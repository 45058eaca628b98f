// IDP_A: an OpenID provider whose apps send an ID token, or a code with its PKCE verifier.
import type { Clock, IdentityProvider, Secrets } from "@signet/kernel/ports"
import type { Fetch } from "./bounded-request.ts"
import { exchangeCode } from "./code-exchange.ts"
import { verifyIdToken } from "./id-token.ts"
import { createProviderKeys } from "./provider-keys.ts"

export interface IdpADeps {
  clock: Clock
  secrets: Pick<Secrets, "digest" | "open">
  /** Where requests go out; the platform's own when left out. */
  fetch?: Fetch
}

export function createIdpA(deps: IdpADeps): IdentityProvider {
  const send: Fetch = deps.fetch ?? ((url, init) => fetch(url, init))
  const keys = createProviderKeys({ clock: deps.clock, fetch: send })
  const idTokenDeps = { keys, clock: deps.clock, secrets: deps.secrets, algorithms: ["RS256", "ES256"] as const }
  return {
    async verify(client, credential, nonce) {
      switch (credential.is) {
        case "idToken":
          return verifyIdToken(idTokenDeps, client, credential.idToken, nonce)
        case "code": {
          const idToken = await exchangeCode({ fetch: send, secrets: deps.secrets }, client, credential)
          const vouched = await verifyIdToken(idTokenDeps, client, idToken, nonce)
          // The provider takes the code once, and nobody but us was given this token.
          return { ...vouched, singleUse: null }
        }
      }
    },
  }
}
