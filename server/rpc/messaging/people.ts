import { Refused } from "@signet/kernel/errors"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import type { Tx } from "@signet/kernel/ports"
import { activeMembership } from "../place.ts"
import type { MessagingDeps } from "./deps.ts"

/**
 * These users, if every one of them is an active user with an active membership of the place.
 *
 * @param ids `prn_…`, as they were asked for; each is answered once.
 * @throws Refused RESOURCE_UNRESOLVED, the same for one that is elsewhere and one that is not.
 */
export async function usersAt(
  deps: Pick<MessagingDeps, "accounts">,
  place: Place,
  ids: readonly string[],
): Promise<readonly PrincipalId[]> {
  const asked = [...new Set(ids)].map(principalIdOf)
  if (asked.length === 0) return []
  await deps.accounts.transaction(async (tx) => {
    for (const id of asked) if (!(await isUserAt(tx, place, id))) throw unresolved()
  })
  return asked
}

/** @throws Refused RESOURCE_UNRESOLVED */
export function principalIdOf(text: string): PrincipalId {
  const id = parseId("prn", text)
  if (id === undefined) throw unresolved()
  return id
}

async function isUserAt(tx: Tx, { appId, tenantId }: Place, id: PrincipalId): Promise<boolean> {
  const principal = await tx.identities.findPrincipal(id)
  if (principal?.kind !== "USER" || principal.status !== "ACTIVE") return false
  return (await activeMembership(tx, id, { appId, tenantId, contextId: null })) !== undefined
}

const unresolved = (): Refused => new Refused("RESOURCE_UNRESOLVED")
