// Verifies a person's proof at the provider.
import { Refused } from "@signet/kernel/errors"
import type { EmailProvider, Vouched } from "@signet/kernel/identity/provider-ports"
import type { App, ProviderClient } from "@signet/kernel/records"
import type { Facts } from "../../audit/audit.ts"
import { audited } from "../../audit/refusals.ts"
import type { Deps } from "../../deps.ts"
import { passwordGuard } from "./held-password.ts"
import { mayConsumeLink } from "./magic-link.ts"
import type { Proof } from "./proof.ts"
import { expectedNonce } from "./transaction.ts"

/**
 * Verifies a proof at the client's provider.
 *
 * @throws Refused PROVIDER_NOT_CONFIGURED for a proof that the provider does not support, and the provider's refusals.
 */
async function vouch(deps: Deps, client: ProviderClient, proof: Proof): Promise<Vouched> {
  switch (proof.is) {
    case "external": {
      const provider = deps.providers[client.provider]
      if (provider === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")
      return provider.verify(client, proof.credential, expectedNonce(deps, client, proof))
    }
    case "session":
      return emailProviderOf(deps, client).verifySession(client, proof.accessToken)
    case "password":
      return emailProviderOf(deps, client).signIn(client, proof)
    case "magicLink":
      return emailProviderOf(deps, client).confirmMagicLink(client, proof.tokenHash, passwordGuard(deps, client))
  }
}

/** As `vouch`. The audit records a refusal with the facts in `failure`. */
export async function vouchOrAudit(
  { deps, app, client }: { deps: Deps; app: App; client: ProviderClient },
  proof: Proof,
  failure: Facts,
): Promise<Vouched> {
  try {
    if (!mayConsumeLink(app, proof)) throw new Refused("MAGIC_LINK_INVALID")
    return await vouch(deps, client, proof)
  } catch (error) {
    throw error instanceof Refused ? audited(error, failure) : error
  }
}

/** @throws Refused PROVIDER_NOT_CONFIGURED */
export function emailProviderOf(deps: Deps, { provider }: ProviderClient): EmailProvider {
  const emailProvider = provider === "IDP_C" ? deps.emailProviders.IDP_C : undefined
  if (emailProvider === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")
  return emailProvider
}
