// Refuses passwords that a stranger may have set before the owner of the address confirmed it. The hold is stored, so a
// failure in between does not lift it.
import type { PasswordGuard } from "@signet/kernel/identity/provider-ports"
import type { ProviderClient } from "@signet/kernel/records"
import type { Deps } from "../../deps.ts"
import type { Entry } from "./entry.ts"

const accountHash = (deps: Deps, client: ProviderClient, subject: string): Uint8Array =>
  deps.secrets.digest(JSON.stringify([client.provider, client.canonicalIssuer, client.providerTenant, subject]))

/** Holds the account's password until it is replaced. If the replacement fails, the next magic link retries it. */
export function passwordGuard(deps: Deps, client: ProviderClient): PasswordGuard {
  const { transaction } = deps.store
  return async ({ subject, isFirst }, replace) => {
    const account = accountHash(deps, client, subject)
    const isHeld = await transaction(async (tx) => {
      if (isFirst) await tx.passwordHolds.hold(account, deps.clock.nowMs())
      return tx.passwordHolds.isHeld(account)
    })
    if (isHeld && (await replace())) await transaction((tx) => tx.passwordHolds.release(account))
  }
}

export function isPasswordHeld({ deps, tx, client, vouched }: Pick<Entry, "deps" | "tx" | "client" | "vouched">) {
  return tx.passwordHolds.isHeld(accountHash(deps, client, vouched.subject))
}
