import type { HandlerContext } from "@connectrpc/connect"
import { planUnlink } from "@signet/kernel/identity/linking"
import { parseId } from "@signet/kernel/ids"
import type { ProviderAccount } from "@signet/kernel/records"
import type { Deps } from "../deps.ts"
import { onOwnIdentity, recordEnded } from "./self.ts"

/** Takes a way of signing in off, with its sessions. The row stays, so that whoever proves the account may link it. */
export function unlinkAccount(deps: Deps, context: HandlerContext, idText: string): Promise<ProviderAccount> {
  return onOwnIdentity(deps, context, async (self) => {
    const { tx, nowMs, identity, record, refuse } = self
    const id = parseId("pac", idText)
    const account = id && (await tx.accounts.lockAccount(id))
    // Read after the identity is locked: of two who take off two accounts, the second sees what the first did.
    const plan = planUnlink(account, await tx.identities.findAccounts(identity.id), identity.id)
    if (account === undefined || plan === "keep") return account ?? refuse("provider_account.unlinked", "NOT_FOUND")
    // Whose else it is is not written to the caller's name.
    const target = account.identityId === identity.id ? { type: "provider_account", id: account.id } : null
    if (plan !== "unlink") return refuse("provider_account.unlinked", plan, target)
    const unlinked: ProviderAccount = { ...account, status: "UNLINKED" }
    await tx.accounts.updateAccount(unlinked)
    await record("provider_account.unlinked", { target })
    await recordEnded(self, await tx.endings.endByAccount(account.id, "provider_account_unlinked", nowMs))
    return unlinked
  })
}
