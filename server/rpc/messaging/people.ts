import { Refused } from "@signet/kernel/errors"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import type { Leaf, Place } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "./deps.ts"

/**
 * The users, if all of them are active users with an active membership of the place.
 *
 * @param ids `prn_…` as requested; each is returned once.
 * @throws Refused RESOURCE_UNRESOLVED, alike for a user elsewhere and an unknown one.
 */
export async function usersAt(
  deps: Pick<MessagingDeps, "accounts">,
  place: Place,
  ids: readonly string[],
): Promise<readonly PrincipalId[]> {
  const asked = [...new Set(ids)].map(principalIdOf)
  if (asked.length === 0) return []
  const active = await deps.accounts.activeUsers(asked, place)
  if (active.length !== asked.length) throw unresolved()
  return asked
}

/**
 * Requires that the caller blocks none of the users who would join.
 *
 * @param roster The members.
 * @throws Refused USER_BLOCKED, with the user as metadata `user_id`.
 */
export async function ensureUnblocked(
  { store }: Pick<MessagingDeps, "store">,
  caller: Place & { readonly userId: PrincipalId },
  roster: readonly Leaf[],
  userIds: readonly PrincipalId[],
): Promise<void> {
  const newcomers = userIds.filter((id) => id !== caller.userId && !roster.some(({ userId }) => userId === id))
  if (newcomers.length === 0) return
  const { userIds: blocked } = await store.blocks.ofUser(caller.userId, caller)
  const found = newcomers.find((id) => blocked.includes(id))
  if (found !== undefined) throw new Refused("USER_BLOCKED", { metadata: { user_id: found } })
}

/** @throws Refused RESOURCE_UNRESOLVED */
function principalIdOf(text: string): PrincipalId {
  const id = parseId("prn", text)
  if (id === undefined) throw unresolved()
  return id
}

const unresolved = (): Refused => new Refused("RESOURCE_UNRESOLVED")
