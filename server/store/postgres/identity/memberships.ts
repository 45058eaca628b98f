import { membershipChange } from "@signet/kernel/authz/authority-change"
import type { Identities } from "@signet/kernel/ports"
import type { Membership } from "@signet/kernel/records"
import { type Selectable, sql } from "kysely"
import { raiseAuthority } from "../admin/authority.ts"
import type { MembershipTable } from "../schema.ts"
import { at, type Database } from "../sql.ts"

const columns = [
  "id",
  "principal_id",
  "app_id",
  "tenant_id",
  "context_id",
  "status",
  "profile",
  "scopes",
  "created_at",
  "updated_at",
] as const

const ended = ["REMOVED", "DECLINED", "REJECTED", "EXPIRED"] as const
/** The final statuses of a membership, as a list of literals. */
export const endedText = ended.map((status) => `'${status}'`).join(", ")

type Memberships = Pick<Identities, "findMembership" | "findMemberships" | "insertMembership">

export function memberships(db: Database): Memberships {
  /**
   * The membership that is live or pending, else the newest ended one, so that a removed member is not treated as new.
   */
  const findMembership: Memberships["findMembership"] = async (principalId, appId, tenantId, contextId) => {
    const row = await db
      .selectFrom("membership")
      .select(columns)
      .where("principal_id", "=", principalId)
      .where("app_id", "=", appId)
      .where(sql`coalesce(tenant_id, '')`, "=", tenantId ?? "")
      .where(sql`coalesce(context_id, '')`, "=", contextId ?? "")
      .orderBy((row) => row("status", "in", ended))
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
        .where("status", "not in", ended)
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
            // A literal, because a parameter does not match the partial index.
            .where(sql<boolean>`status in ('INVITED', 'REQUESTED', 'ACTIVE', 'SUSPENDED')`)
            .doNothing(),
        )
        .returning("id")
        .executeTakeFirst()
      if (inserted) {
        await raiseAuthority(db, membership, membershipChange(undefined, membership), membership.createdAtMs)
        return membership
      }
      const { principalId, appId, tenantId, contextId } = membership
      const found = await findMembership(principalId, appId, tenantId, contextId)
      if (found === undefined) throw new Error("a conflicting membership disappeared")
      return found
    },
  }
}

export const membershipFromRow = (row: Selectable<MembershipTable>): Membership => ({
  id: row.id,
  principalId: row.principal_id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  status: row.status,
  profile: row.profile,
  scopes: row.scopes,
  createdAtMs: row.created_at.getTime(),
  updatedAtMs: row.updated_at.getTime(),
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
  created_at: at(membership.createdAtMs),
  updated_at: at(membership.updatedAtMs),
})
