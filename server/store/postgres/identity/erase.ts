// Erases a person: the rows keep their ids and lose every personal field.
import type { IdentityId, PrincipalId } from "@signet/kernel/ids"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { sql } from "kysely"
import { raiseAuthorityEverywhere } from "../admin/authority.ts"
import { endCredentials, noLock } from "../admin/principals.ts"
import { eraseKeys } from "../audit/audit-keys.ts"
import { eraseBlocks } from "../messaging/blocks.ts"
import { at, type Database } from "../sql.ts"
import { revocations } from "../token/revocations.ts"

/**
 * Ids are never reused. Account keys are: the same provider account makes a new person. Repeating it changes nothing.
 */
export async function erase(db: Database, id: IdentityId, nowMs: number): Promise<void> {
  const erased = await db
    .updateTable("identity")
    .set({ status: "DELETED", primary_email: null, deletes_at: null, updated_at: at(nowMs) })
    .where("id", "=", id)
    .where("status", "<>", "DELETED")
    .returning("id")
    .execute()
  if (erased.length === 0) return
  // The lock order of a sign-in: identity, principal, accounts.
  const [principal] = await db
    .updateTable("principal")
    .set({ status: "DELETED", deactivated_at: null, ...noLock })
    .where("identity_id", "=", id)
    .returning("id")
    .execute()
  if (principal !== undefined) {
    await endCredentials(db, principal.id, nowMs)
    await endDelegations(db, principal.id, nowMs)
    await endGrants(db, principal.id, nowMs)
    await endInvitations(db, principal.id, nowMs)
    await eraseMemberships(db, principal.id, nowMs)
    await raiseAuthorityEverywhere(db, principal.id)
    await eraseBlocks(db, principal.id)
    await db.updateTable("pat").set({ name: "" }).where("principal_id", "=", principal.id).execute()
  }
  await eraseSessions(db, id)
  await eraseAccounts(db, id)
  // The audit's network addresses become unreadable; its chain stays valid.
  await eraseKeys(db, [id, ...(principal === undefined ? [] : [principal.id])], nowMs)
}

async function endDelegations(db: Database, id: PrincipalId, nowMs: number): Promise<void> {
  const ended = await db
    .updateTable("delegation")
    .set({ revoked_at: at(nowMs) })
    .where("subject_principal_id", "=", id)
    .where("revoked_at", "is", null)
    .returning("id")
    .execute()
  const expiresAtMs = nowMs + longestTokenMs
  await revocations(db).add(ended.map(({ id: key }) => ({ kind: "CREDENTIAL", key, expiresAtMs })))
}

/** Revokes the grants. The reason of a grant may contain personal data, so it is erased too. */
async function endGrants(db: Database, id: PrincipalId, nowMs: number): Promise<void> {
  await db
    .updateTable("role_grant")
    .set({ status: "REVOKED", revoked_at: at(nowMs) })
    .where("principal_id", "=", id)
    .where("status", "=", "ACTIVE")
    .execute()
  await db.updateTable("role_grant").set({ reason: "" }).where("principal_id", "=", id).execute()
}

/** Revokes the invitations to the person and those that the person issued. */
async function endInvitations(db: Database, id: PrincipalId, nowMs: number): Promise<void> {
  await db
    .updateTable("invitation")
    .set({ status: "REVOKED", answered_at: at(nowMs) })
    .where((row) => row.or([row("principal_id", "=", id), row("invited_by", "=", id)]))
    .where("status", "=", "PENDING")
    .execute()
}

async function eraseMemberships(db: Database, id: PrincipalId, nowMs: number): Promise<void> {
  await db
    .updateTable("membership")
    .set({
      profile: "{}",
      status: sql`case when status in ('DECLINED', 'REJECTED', 'EXPIRED') then status else 'REMOVED' end`,
    })
    .set({ updated_at: at(nowMs) })
    .where("principal_id", "=", id)
    .execute()
}

async function eraseSessions(db: Database, id: IdentityId): Promise<void> {
  await db
    .updateTable("session")
    .set({ device_id: "", device_label: "", device_os: "", device_app_version: "", user_agent: "" })
    .where("identity_id", "=", id)
    .execute()
}

async function eraseAccounts(db: Database, id: IdentityId): Promise<void> {
  const nothing = {
    provider_tenant: null,
    email: null,
    is_relay_email: false,
    is_contactable: false,
    last_used_at: null,
  }
  await db
    .updateTable("provider_account")
    .set({ ...nothing, subject: sql`'deleted:' || id`, refresh_token_sealed: null, status: "UNLINKED" })
    .where("identity_id", "=", id)
    .execute()
}
