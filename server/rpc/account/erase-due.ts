// Erases identities whose deletion is due. Several processes may run it at once.
import { Refused } from "@signet/kernel/errors"
import { isDue, revocationPatienceMs } from "@signet/kernel/identity/deletion"
import { type ProviderToken, parseProviderToken } from "@signet/kernel/identity/provider-client"
import type { IdentityId } from "@signet/kernel/ids"
import { providerTokenLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderAccount } from "@signet/kernel/records"
import { ownEvent } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"

type EraseDeps = Pick<Deps, "store" | "secrets" | "clock" | "random" | "providers">

/** The most identities that one run erases; the next run continues. */
const mostAtOnce = 100

/**
 * Erases due identities, and first revokes their tokens at the providers: afterwards nothing names those accounts.
 * While a provider does not answer, every run retries, for an hour after the due time.
 *
 * @returns The number of erased identities.
 */
export async function eraseDue(deps: EraseDeps, onFault: (fault: unknown) => void): Promise<number> {
  const ids = await deps.store.transaction((tx) => tx.accounts.listDueDeletions(deps.clock.nowMs(), mostAtOnce))
  let erased = 0
  for (const id of ids) {
    // A failed erasure does not stop the others.
    const isErased = await eraseOne(deps, id, onFault).catch(onFault)
    if (isErased === true) erased += 1
  }
  return erased
}

async function eraseOne(deps: EraseDeps, id: IdentityId, onFault: (fault: unknown) => void): Promise<boolean> {
  const { identity, accounts } = await deps.store.transaction(async (tx) => ({
    identity: await tx.identities.findIdentity(id),
    accounts: await tx.identities.findAccounts(id),
  }))
  const nowMs = deps.clock.nowMs()
  if (!isDue(identity, nowMs)) return false
  const isPatient = nowMs < (identity?.deletesAtMs ?? 0) + revocationPatienceMs
  for (const account of accounts) {
    const isSettled = await revoke(deps, account, onFault)
    if (!isSettled && isPatient) return false
  }
  return deps.store.transaction(async (tx) => {
    const locked = await tx.accounts.lockIdentity(id)
    // Another process has erased it, or its owner has cancelled the deletion.
    if (!isDue(locked, nowMs)) return false
    const principal = await tx.identities.findUserPrincipal(id)
    await tx.accounts.erase(id, nowMs)
    const facts = {
      kind: "identity.deleted",
      subjectIdentityId: id,
      subjectPrincipalId: principal?.id ?? null,
      target: { type: "identity", id },
    } as const
    await tx.audit.append(ownEvent(deps, nowMs, facts))
    return true
  })
}

/** Revokes the token at the provider. False where a retry may succeed. */
async function revoke(deps: EraseDeps, account: ProviderAccount, onFault: (fault: unknown) => void): Promise<boolean> {
  const kept = tokenOf(deps, account)
  const provider = deps.providers[account.provider]
  if (kept === undefined || provider?.revoke === undefined) return true
  const client = await deps.store.transaction((tx) => tx.administration.lockProviderClient(kept.clientId))
  if (client === undefined) return true
  try {
    await provider.revoke(client, kept.token)
    return true
  } catch (fault) {
    onFault(fault)
    return !(fault instanceof Refused && fault.reason === "UPSTREAM_UNAVAILABLE")
  }
}

/** The provider's refresh token; undefined where there is none or its seal does not open. */
function tokenOf({ secrets }: EraseDeps, { id, refreshTokenSealed }: ProviderAccount): ProviderToken | undefined {
  const opened = refreshTokenSealed && secrets.open(providerTokenLabel(id), refreshTokenSealed)
  return opened ? parseProviderToken(new TextDecoder().decode(opened)) : undefined
}
