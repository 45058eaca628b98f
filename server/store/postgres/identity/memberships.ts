import { membershipChange } from "@signet/kernel/authz/authority-change"
import type { Identities } from "@signet/kernel/ports"
import type { Membership } from "@signet/kernel/records"
import { sql } from "kysely"
import { raiseAuthority } from "../admin/authority.ts"
import { instant, json, rowMapping } from "../row-mapping.ts"
import type { MembershipTable } from "../schema.ts"
import type { Database } from "../sql.ts"

export const membershipRows = rowMapping<Membership, MembershipTable>({
  id: "id",
  principalId: "principal_id",
  appId: "app_id",
  tenantId: "tenant_id",
  contextId: "context_id",
  status: "status",
  profile: json("profile"),
  scopes: "scopes",
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
})

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
      .select(membershipRows.columns)
      .where("principal_id", "=", principalId)
      .where("app_id", "=", appId)
      .where(sql`coalesce(tenant_id, '')`, "=", tenantId ?? "")
      .where(sql`coalesce(context_id, '')`, "=", contextId ?? "")
      .orderBy((row) => row("status", "in", ended))
      .orderBy("id", "desc")
      .limit(1)
      .executeTakeFirst()
    return row && membershipRows.fromRow(row)
  }

  return {
    findMembership,

    async findMemberships(principalId, appId) {
      const rows = await db
        .selectFrom("membership")
        .select(membershipRows.columns)
        .where("principal_id", "=", principalId)
        .where("app_id", "=", appId)
        .where("status", "not in", ended)
        .orderBy("id")
        .execute()
      return rows.map(membershipRows.fromRow)
    },

    async insertMembership(membership) {
      const inserted = await db
        .insertInto("membership")
        .values(membershipRows.toRow(membership))
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
