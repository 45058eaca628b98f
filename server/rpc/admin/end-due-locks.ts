// Ends expired locks of principals. Several processes may run it at once.
import { isLockOver } from "@signet/kernel/identity/principal"
import type { PrincipalId } from "@signet/kernel/ids"
import { ownEvent } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"

type LockDeps = Pick<Deps, "store" | "clock" | "random">

/** The most locks that one run ends; the next run continues. */
const mostAtOnce = 100

/** @returns The number of ended locks. */
export async function endDueLocks(deps: LockDeps, onFault: (fault: unknown) => void): Promise<number> {
  const ids = await deps.store.transaction((tx) => tx.principals.listDueUnlocks(deps.clock.nowMs(), mostAtOnce))
  let ended = 0
  for (const id of ids) {
    // A failure does not stop the others.
    const isEnded = await endOne(deps, id).catch(onFault)
    if (isEnded === true) ended += 1
  }
  return ended
}

function endOne(deps: LockDeps, id: PrincipalId): Promise<boolean> {
  return deps.store.transaction(async (tx) => {
    const nowMs = deps.clock.nowMs()
    const principal = await tx.principals.lock(id)
    // The principal was unlocked, or locked for longer, after the list was read.
    if (principal === undefined || !isLockOver(principal, nowMs)) return false
    if (!(await tx.principals.unlock(id, nowMs))) return false
    const facts = {
      kind: "principal.lock_expired",
      subjectPrincipalId: id,
      subjectIdentityId: principal.identityId,
      target: { type: "principal", id },
    } as const
    await tx.audit.append(ownEvent(deps, nowMs, facts))
    return true
  })
}
