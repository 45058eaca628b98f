import type { MemberCalls, Members } from "@signet/kernel/administration/ports"
import { membershipChange } from "@signet/kernel/authz/authority-change"
import type { PrincipalId } from "@signet/kernel/ids"
import { membershipRows } from "../identity/memberships.ts"
import { among, newestFirst, only } from "../page.ts"
import { retried } from "../retry.ts"
import { findTogether } from "../several.ts"
import { at, type Database, run } from "../sql.ts"
import { raiseAuthority } from "./authority.ts"

const isMember = "m.principal_id = p.id and m.app_id = $2 and m.context_id is null and m.status = 'ACTIVE'"
// One row, and the ids as one text, so that several calls can share the statement.
const askedIds = "(select string_to_array($1::text, ' '))::text[]"
const activeUsersText = `select array(
  select p.id from principal p
  where p.id = any(${askedIds}) and p.kind = 'USER' and p.status = 'ACTIVE'
    and exists (select from membership m where ${isMember} and m.tenant_id is null)
    and exists (select from membership m where ${isMember} and m.tenant_id is not distinct from $3::text)
) as ids`

// A suspended or locked user may become active again.
const isLasting =
  "m.principal_id = p.id and m.app_id = $2 and m.context_id is null and m.status in ('ACTIVE', 'SUSPENDED')"
const goneUsersText = `select array(
  select asked.id from unnest(${askedIds}) as asked(id) where not exists (
    select from principal p
    where p.id = asked.id and p.kind = 'USER' and p.status in ('ACTIVE', 'SUSPENDED', 'LOCKED')
      and exists (select from membership m where ${isLasting} and m.tenant_id is null)
      and exists (select from membership m where ${isLasting} and m.tenant_id is not distinct from $3::text))
) as ids`

type FindIds = (values: readonly unknown[]) => Promise<{ readonly ids: readonly PrincipalId[] } | undefined>

const usersBy =
  (find: FindIds): MemberCalls["activeUsers"] =>
  async (ids, { appId, tenantId }) =>
    (await find([ids.join(" "), appId, tenantId]))?.ids ?? []

/** Outside of transactions: calls share statements. */
export function memberCalls(db: Database): MemberCalls {
  const together = (text: string): FindIds =>
    findTogether((...of) => retried(() => run(db, ...of)), text, ["text", "text", "text"])
  return { activeUsers: usersBy(together(activeUsersText)), goneUsers: usersBy(together(goneUsersText)) }
}

export function members(db: Database): Members {
  return {
    async find(id) {
      const row = await db.selectFrom("membership").selectAll().where("id", "=", id).executeTakeFirst()
      return row && membershipRows.fromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("membership").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && membershipRows.fromRow(row)
    },

    async list(appId, filter, page) {
      const query = db
        .selectFrom("membership")
        .selectAll()
        .where("app_id", "=", appId)
        .where(only("tenant_id", filter.tenantId))
        .where(only("context_id", filter.contextId))
        .where(only("status", filter.status))
        .where(only("principal_id", filter.principalId))
        .where(among("principal_id", filter.principalIds))
      return (await newestFirst(query, page).execute()).map(membershipRows.fromRow)
    },

    async listOfPrincipal(id) {
      const rows = await db
        .selectFrom("membership")
        .selectAll()
        .where("principal_id", "=", id)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .execute()
      return rows.map(membershipRows.fromRow)
    },

    async update(membership) {
      const { id, status, profile, scopes, updatedAtMs } = membership
      const before = await db.selectFrom("membership").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      const change = { status, profile: JSON.stringify(profile), scopes, updated_at: at(updatedAtMs) }
      await db.updateTable("membership").set(change).where("id", "=", id).execute()
      await raiseAuthority(
        db,
        membership,
        membershipChange(before && membershipRows.fromRow(before), membership),
        updatedAtMs,
      )
    },
  }
}
