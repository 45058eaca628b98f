// IDP_B: an OpenID provider with two issuers, booleans as strings, JWTs as client secrets, and notifications.
import { Refused } from "@signet/kernel/errors"
import type { IdentityProvider, NotificationReader, Vouched } from "@signet/kernel/identity/provider-ports"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { type Fetch, outbound } from "./bounded-request.ts"
import { vouch } from "./id-token.ts"
import { revokeToken, tradeCode } from "./idp-b-endpoints.ts"
import { readNotification } from "./notification.ts"
import { createProviderKeys } from "./provider-keys.ts"
import { verifySignedToken } from "./signed-token.ts"

interface IdpBDeps {
  clock: Clock
  secrets: Pick<Secrets, "digest" | "open">
  /** Allows a provider at a loopback address without TLS: for the development profile and tests. */
  isLoopbackAllowed: boolean
  /** Default: the platform's `fetch`. */
  fetch?: Fetch
}

/** An app's bundle id on iOS and services id elsewhere: both are `clientId` and `audiences` of their provider client. */
interface IdpB extends IdentityProvider, NotificationReader {
  revoke(client: ProviderClient, providerRefreshToken: string): Promise<void>
}

export function createIdpB(deps: IdpBDeps): IdpB {
  const out = outbound(deps)
  const keys = createProviderKeys({ ...out, clock: deps.clock })
  const signed = { keys, algorithms: ["RS256", "ES256"] as const }
  const endpoints = { ...deps, ...out }

  async function verify(client: ProviderClient, idToken: string, nonce: string): Promise<Vouched> {
    const claims = await verifySignedToken(signed, client.jwksUri, idToken)
    const emailVerified = isTrue(claims.email_verified)
    const vouched = vouch(deps, client, { idToken, claims: { ...claims, email_verified: emailVerified } }, nonce)
    // The token contains no name. The app receives it at the first sign-in and sends it with the credential.
    return { ...vouched, name: null, isRelayEmail: isTrue(claims.is_private_email) }
  }

  return {
    async verify(client, credential, nonce) {
      // The team is a part of the account's key: without it, users of two teams could share an account.
      if (client.providerTenant === null) throw new Refused("PROVIDER_NOT_CONFIGURED")
      switch (credential.is) {
        case "idToken":
          return verify(client, credential.idToken, nonce)
        case "code": {
          // The provider ignores code verifiers, so only the nonce binds a code to this sign-in.
          if (nonce === "") throw new Refused("NONCE_MISMATCH", { metadata: { claim: "nonce" } })
          const { idToken, refreshToken } = await tradeCode(endpoints, client, credential)
          const vouched = await verify(client, idToken, nonce)
          // The provider accepts a code once, and only this server received the token.
          return { ...vouched, providerRefreshToken: refreshToken, singleUse: null }
        }
      }
    },
    revoke: (client, providerRefreshToken) => revokeToken(endpoints, client, providerRefreshToken),
    read: (clients, jws) => readNotification({ ...signed, clock: deps.clock }, clients, jws),
  }
}

/** The provider writes true as a boolean or as the string "true". Every other value is false. */
export function isTrue(value: unknown): boolean {
  return value === true || value === "true"
}
