// Export and deletion of the caller's own identity.
import type { HandlerContext } from "@connectrpc/connect"
import { deletionMs } from "@signet/kernel/identity/deletion"
import type { Identity } from "@signet/kernel/records"
import type { Deps } from "../deps.ts"
import { onOwnIdentity, recordEnded } from "./self.ts"

/** The most records of each kind in an export. */
const mostRecords = 1_000

export function exportIdentity(deps: Deps, context: HandlerContext) {
  return onOwnIdentity(deps, context, async ({ tx, nowMs, identity, principal, record }) => {
    await record("identity.exported", { target: { type: "identity", id: identity.id } })
    const records = await tx.people.records(identity.id, principal.id, mostRecords)
    return {
      identity,
      principal,
      ...records,
      roleKeys: await tx.roles.findKeys(records.grants.map(({ roleId }) => roleId)),
      accounts: await tx.identities.findAccounts(identity.id),
      memberships: await tx.members.listOfPrincipal(principal.id),
      nowMs,
    }
  })
}

/** Schedules the deletion. Sessions and personal access tokens end at once. */
export function requestDeletion(deps: Deps, context: HandlerContext): Promise<Identity> {
  return onOwnIdentity(deps, context, async (self) => {
    const { tx, nowMs, identity, principal, record } = self
    const leaving: Identity = {
      ...identity,
      status: "DELETION_PENDING",
      deletesAtMs: nowMs + deletionMs,
      updatedAtMs: nowMs,
    }
    await tx.accounts.updateIdentity(leaving)
    await record("identity.deletion_requested", { target: { type: "identity", id: identity.id } })
    await recordEnded(self, await tx.sessions.endAll(identity.id, null, "deletion_requested", nowMs))
    for (const id of await tx.people.endPats(principal.id, nowMs)) {
      await record("pat.revoked", { target: { type: "pat", id } })
    }
    return leaving
  })
}
