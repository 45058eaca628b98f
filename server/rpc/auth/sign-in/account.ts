// Stores what the provider states about an account at each sign-in.
import { normalizeEmail } from "@signet/kernel/identity/first-login"
import { formatProviderToken } from "@signet/kernel/identity/provider-client"
import type { Vouched } from "@signet/kernel/identity/provider-ports"
import type { ProviderAccountId } from "@signet/kernel/ids"
import { providerTokenLabel } from "@signet/kernel/keys/sealed-columns"
import type { AccountKey, ProviderAccount, ProviderClient } from "@signet/kernel/records"
import type { Deps } from "../../deps.ts"
import type { VouchedSignIn } from "./entry.ts"

/** Seals the provider's refresh token; null if the provider issued none. */
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

/** The key of the account that the provider vouched for. */
export const accountKeyOf = ({ client, vouched }: Pick<VouchedSignIn, "client" | "vouched">): AccountKey => ({
  provider: client.provider,
  issuer: client.canonicalIssuer,
  subject: vouched.subject,
  providerTenant: vouched.providerTenant,
})

interface AccountUse {
  /** The address that the session's statement stores; null if the provider sent none. */
  readonly email: string | null
  /** The account with the relay flag and refresh token that the provider sent; undefined if they are stored already. */
  readonly changed: ProviderAccount | undefined
}

export function accountUse({ deps, client, vouched }: VouchedSignIn, account: ProviderAccount): AccountUse {
  const email = normalizeEmail(vouched.email)
  const isRelayEmail = email === null ? account.isRelayEmail : vouched.isRelayEmail
  const sealed = sealProviderToken(deps, client, vouched, account.id)
  const isStored = sealed === null && isRelayEmail === account.isRelayEmail
  const refreshTokenSealed = sealed ?? account.refreshTokenSealed
  return { email, changed: isStored ? undefined : { ...account, isRelayEmail, refreshTokenSealed } }
}
