// Verifies notifications of IDP_B: a JWS that arrives outside of a sign-in, from an unauthenticated sender.
import { addressees, judgeNotification } from "@signet/kernel/identity/provider-notification"
import type { ProviderNotification } from "@signet/kernel/identity/provider-ports"
import type { Clock } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { invalid, readUnverified, type SignedTokenDeps, verifySignedToken } from "./signed-token.ts"

/**
 * @param clients The possible addressees. The clients of its audience must agree on keys, issuers and team: an audience
 *   that two teams claim is refused.
 * @throws Refused PROVIDER_TOKEN_INVALID (its metadata names the claim), UPSTREAM_UNAVAILABLE.
 */
export async function readNotification(
  deps: SignedTokenDeps & { clock: Clock },
  clients: readonly ProviderClient[],
  jws: string,
): Promise<ProviderNotification> {
  const [client, ...others] = addressees(clients, readUnverified(jws).aud)
  if (client === undefined || others.some((other) => !isAlike(client, other))) throw invalid("aud")
  const claims = await verifySignedToken(deps, client.jwksUri, jws)
  const judgment = judgeNotification(claims, client, Math.floor(deps.clock.nowMs() / 1000))
  if (judgment.is === "refuse") throw invalid(judgment.claim)
  return judgment.notification
}

function isAlike(a: ProviderClient, b: ProviderClient): boolean {
  return (
    a.jwksUri === b.jwksUri &&
    a.canonicalIssuer === b.canonicalIssuer &&
    a.providerTenant === b.providerTenant &&
    a.issuers.length === b.issuers.length &&
    a.issuers.every((issuer) => b.issuers.includes(issuer))
  )
}
