// What every call on a service account begins and ends with: an administrator in a session, the account at the same
// place, one transaction, and what is written down of it.
import type { HandlerContext } from "@connectrpc/connect"
import type { AuditKind } from "@signet/kernel/audit/event"
import { misplacement } from "@signet/kernel/authz/grants"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { ServiceAccount } from "@signet/kernel/machine-records"
import type { Tx } from "@signet/kernel/ports"
import { auditEvent } from "../audit.ts"
import { sessionUserOf, type UserContext } from "../call.ts"
import type { Deps } from "../deps.ts"
import { limitWrite } from "../limit.ts"

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
 * @param work Returns Refused, and has changed nothing then.
 * @throws Refused RESOURCE_UNRESOLVED, the same for somebody else's account and for none; the audit knows which.
 */
export async function onAccount<T>(
  deps: Deps,
  context: HandlerContext,
  idText: string,
  work: (administration: Administration) => Promise<T | Refused>,
  options: { take: "find" | "lock" } = { take: "lock" },
): Promise<T> {
  const administrator = sessionUserOf(context)
  if (options.take === "lock") await limitWrite(deps, context)
  const nowMs = deps.clock.nowMs()
  const id = parseId("sac", idText)
  const outcome = await deps.store.transaction(async (tx) => {
    const account = id && (await tx.serviceAccounts[options.take](id))
    const problem = account && misplacement(administrator, { ...account, type: "service_account", contextId: null })
    if (account === undefined || problem !== undefined) {
      await tx.audit.append(
        auditEvent(deps, context, nowMs, {
          ...factsOf(administrator),
          kind: "authz.denied",
          outcome: "DENIED",
          reason: problem ?? "RESOURCE_UNRESOLVED",
        }),
      )
      return new Refused("RESOURCE_UNRESOLVED")
    }
    const own = { type: "service_account", id: account.id }
    return work({
      tx,
      account,
      nowMs,
      record: (kind, target = own) =>
        tx.audit.append(
          auditEvent(deps, context, nowMs, {
            ...factsOf(administrator),
            kind,
            subjectPrincipalId: account.principalId,
            target,
          }),
        ),
    })
  })
  if (outcome instanceof Refused) throw outcome
  return outcome
}

/** Who administers, and where. */
export const factsOf = (administrator: UserContext) => ({
  appId: administrator.appId,
  tenantId: administrator.tenantId,
  contextId: administrator.contextId,
  actorPrincipalId: administrator.principal.id,
  sessionId: administrator.sessionId,
})
