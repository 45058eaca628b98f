// A provider account that is used: what the provider says of it now is kept.
import { normalizeEmail } from "@signet/kernel/identity/first-login"
import { formatProviderToken } from "@signet/kernel/identity/provider-client"
import type { Vouched } from "@signet/kernel/identity/provider-ports"
import type { ProviderAccountId } from "@signet/kernel/ids"
import { providerTokenLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderAccount, ProviderClient } from "@signet/kernel/records"
import type { Deps } from "../../deps.ts"
import type { Entry } from "./entry.ts"

/** Null when the provider gave no refresh token. */
export function sealProviderToken(
  deps: Deps,
  client: ProviderClient,
  { providerRefreshToken }: Vouched,
  id: ProviderAccountId,
): Uint8Array | null {
  if (providerRefreshToken === null) return null
  const text = formatProviderToken({ clientId: client.id, token: providerRefreshToken })
  return deps.secrets.seal(providerTokenLabel(id), new TextEncoder().encode(text))
}

/** Keeps address, relay mark and refresh token, as far as they came; an account that was REVOKED is LINKED again. */
export async function useAccount({ deps, tx, client, vouched, nowMs }: Entry, account: ProviderAccount): Promise<void> {
  const email = normalizeEmail(vouched.email)
  const isRelayEmail = email === null ? account.isRelayEmail : vouched.isRelayEmail
  const sealed = sealProviderToken(deps, client, vouched, account.id)
  if (sealed !== null || isRelayEmail !== account.isRelayEmail) {
    const refreshTokenSealed = sealed ?? account.refreshTokenSealed
    await tx.accounts.updateAccount({ ...account, isRelayEmail, refreshTokenSealed })
  }
  await tx.identities.markAccountUsed(account.id, email, nowMs)
}
