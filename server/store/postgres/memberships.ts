import type { Identities } from "@signet/kernel/ports"
import type { Membership } from "@signet/kernel/records"
import { type Selectable, sql } from "kysely"
import type { MembershipTable } from "./schema.ts"
import type { Database } from "./sql.ts"

const columns = ["id", "principal_id", "app_id", "tenant_id", "context_id", "status", "profile", "scopes"] as const

type Memberships = Pick<Identities, "findMembership" | "findMemberships" | "insertMembership">

export function memberships(db: Database): Memberships {
  /** The one that was not removed; else the newest that was, so that who was removed does not look like a newcomer. */
  const findMembership: Memberships["findMembership"] = async (principalId, appId, tenantId, contextId) => {
    const row = await db
      .selectFrom("membership")
      .select(columns)
      .where("principal_id", "=", principalId)
      .where("app_id", "=", appId)
      .where(sql`coalesce(tenant_id, '')`, "=", tenantId ?? "")
      .where(sql`coalesce(context_id, '')`, "=", contextId ?? "")
      .orderBy((row) => row("status", "=", "REMOVED"))
      .orderBy("id", "desc")
      .limit(1)
      .executeTakeFirst()
    return row && membershipFromRow(row)
  }

  return {
    findMembership,

    async findMemberships(principalId, appId) {
      const rows = await db
        .selectFrom("membership")
        .select(columns)
        .where("principal_id", "=", principalId)
        .where("app_id", "=", appId)
        .where("status", "<>", "REMOVED")
        .orderBy("id")
        .execute()
      return rows.map(membershipFromRow)
    },

    async insertMembership(membership) {
      const inserted = await db
        .insertInto("membership")
        .values(membershipToRow(membership))
        .onConflict((conflict) =>
          conflict
            .expression(sql`principal_id, app_id, (coalesce(tenant_id, '')), (coalesce(context_id, ''))`)
            // A literal: a parameter does not match the partial index.
            .where(sql<boolean>`status <> 'REMOVED'`)
            .doNothing(),
        )
        .returning("id")
        .executeTakeFirst()
      if (inserted) return membership
      const { principalId, appId, tenantId, contextId } = membership
      const found = await findMembership(principalId, appId, tenantId, contextId)
      if (found === undefined) throw new Error("a membership was in the way and is gone")
      return found
    },
  }
}

const membershipFromRow = (row: Selectable<MembershipTable>): Membership => ({
  id: row.id,
  principalId: row.principal_id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  status: row.status,
  profile: row.profile,
  scopes: row.scopes,
})

const membershipToRow = (membership: Membership) => ({
  id: membership.id,
  principal_id: membership.principalId,
  app_id: membership.appId,
  tenant_id: membership.tenantId,
  context_id: membership.contextId,
  status: membership.status,
  profile: JSON.stringify(membership.profile),
  scopes: membership.scopes,
})
