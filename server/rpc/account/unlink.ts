import type { HandlerContext } from "@connectrpc/connect"
import { planUnlink } from "@signet/kernel/identity/linking"
import { parseId } from "@signet/kernel/ids"
import type { ProviderAccount } from "@signet/kernel/records"
import type { Deps } from "../deps.ts"
import { onOwnIdentity, recordEnded } from "./self.ts"

/**
 * Unlinks a provider account and ends its sessions. The row stays, so a caller who proves the account can link it
 * again.
 */
export function unlinkAccount(deps: Deps, context: HandlerContext, idText: string): Promise<ProviderAccount> {
  return onOwnIdentity(deps, context, async (self) => {
    const { tx, nowMs, identity, record, refuse } = self
    const id = parseId("pac", idText)
    const account = id && (await tx.accounts.lockAccount(id))
    // Read after the identity is locked: of two concurrent unlinks, the second sees the first.
    const plan = planUnlink(account, await tx.identities.findAccounts(identity.id), identity.id)
    if (account === undefined || plan === "keep") return account ?? refuse("provider_account.unlinked", "NOT_FOUND")
    // The audit of the caller does not name another identity's account.
    const target = account.identityId === identity.id ? { type: "provider_account", id: account.id } : null
    if (plan !== "unlink") return refuse("provider_account.unlinked", plan, target)
    const unlinked: ProviderAccount = { ...account, status: "UNLINKED" }
    await tx.accounts.updateAccount(unlinked)
    await record("provider_account.unlinked", { target })
    await recordEnded(self, await tx.endings.endByAccount(account.id, "provider_account_unlinked", nowMs))
    return unlinked
  })
}
