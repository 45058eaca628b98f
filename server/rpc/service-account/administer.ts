// What every call on a service account begins with: an administrator in a session, and the account at the same place.
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
  /** Writes down what was done to the account, or to one of its credentials. */
  record(kind: AuditKind, target?: { type: string; id: string }): Promise<void>
}

/**
 * Does the work on the account of that id, unless it is out of the caller's reach.
 *
 * @param options.take "find" where nothing is changed; a change locks the account, so that credentials are counted one
 *   call after the other.
 * @param options.gives The caller gets a credential of the account.
 * @param work Returns Refused for what is not done.
 * @throws Refused RESOURCE_UNRESOLVED, the same for somebody else's account and for none; the audit knows which.
 *   SCOPE_NOT_GRANTED for a credential of an account that may more than the caller.
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
