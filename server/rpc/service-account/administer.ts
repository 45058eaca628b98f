// The frame of every call on a service account: an administrator in a session, and the account at the same place.
import type { HandlerContext } from "@connectrpc/connect"
import type { AuditKind } from "@signet/kernel/audit/event"
import { misplacement } from "@signet/kernel/authz/grants"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import { mayHaveCredential } from "@signet/kernel/machine/service-account"
import type { Tx } from "@signet/kernel/ports"
import { sessionUserOf } from "../../serving/call/call.ts"
import { administer, unresolved } from "../admin/administer.ts"
import type { Deps } from "../deps.ts"

export interface Administration {
  tx: Tx
  account: ServiceAccount
  nowMs: number
  /** Records a change of the account, or of one of its credentials, in the audit. */
  record(kind: AuditKind, target?: { type: string; id: string }): Promise<void>
}

/**
 * Runs `work` on the account, unless it is outside the caller's scope.
 *
 * @param options.take "find" for reads. A change locks the account, so that concurrent calls count its credentials in
 * turn.
 * @param options.gives The caller gets a credential of the account.
 * @param work Returns Refused for a refusal.
 * @throws Refused RESOURCE_UNRESOLVED, alike for another's account and a missing one; the audit has the true reason.
 * SCOPE_NOT_GRANTED for a credential of an account with scopes that the caller lacks.
 */
export async function onAccount<T>(
  deps: Deps,
  context: HandlerContext,
  idText: string,
  work: (administration: Administration) => Promise<T | Refused>,
  options: { take: "find" | "lock"; gives?: "credential" } = { take: "lock" },
): Promise<T> {
  const administrator = sessionUserOf(context)
  const id = parseId("sac", idText)
  return administer(deps, context, options.take === "find" ? "read" : "write", async ({ tx, nowMs, record }) => {
    const account = id && (await tx.serviceAccounts[options.take](id))
    if (account === undefined) throw unresolved()
    const place = { appId: account.appId, tenantId: account.tenantId, contextId: null }
    const problem = misplacement(administrator, { ...place, type: "service_account", id: account.id })
    if (problem !== undefined) throw unresolved(problem)
    if (options.gives && !mayHaveCredential(account, administrator.scopes)) throw new Refused("SCOPE_NOT_GRANTED")
    const own = { type: "service_account", id: account.id }
    const outcome = await work({
      tx,
      account,
      nowMs,
      record: (kind, target = own) => record(kind, { place, target, subject: account.principalId }),
    })
    if (outcome instanceof Refused) throw outcome
    return outcome
  })
}
