// Reads the contents of a membership's token in one statement.
import type { Authorities } from "@signet/kernel/authz/ports"
import { membershipRows } from "../identity/memberships.ts"
import { prefixed, rowOf } from "../row-mapping.ts"
import type { AppTable, MembershipTable } from "../schema.ts"
import { type Database, run } from "../sql.ts"
import { appRows } from "./apps.ts"

const findText = `select ${prefixed("app", appRows.columns)}, ${prefixed("membership", membershipRows.columns)},
  (select version from authority_version where principal_id = membership.principal_id and app_id = app.id) as principal,
  (select version from policy_version where app_id = app.id) as policy
from membership join app on app.id = membership.app_id where membership.id = $1`

type Row = Readonly<Record<string, unknown>>

export const findHeldAuthority =
  (db: Database): Authorities["findOf"] =>
  async (id) => {
    const [row] = await run<Row>(db, findText, [id])
    if (row === undefined) return undefined
    const app = rowOf<AppTable>(row, "app", appRows.columns)
    const membership = rowOf<MembershipTable>(row, "membership", membershipRows.columns)
    if (app === undefined || membership === undefined) return undefined
    return {
      versions: { principal: Number(row.principal ?? 0), policy: Number(row.policy ?? 0) },
      app: appRows.fromRow(app),
      membership: membershipRows.fromRow(membership),
    }
  }
