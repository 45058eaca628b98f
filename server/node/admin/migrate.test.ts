// The plan that an operator reads before an upgrade.
import { sql } from "kysely"
import { expect, test } from "vitest"
import { settings } from "../../../test/drills/failover.ts"
import { createTestDatabase, describeOnPostgres } from "../../../test/support/postgres.ts"
import { openPostgres } from "../../store/postgres/open.ts"
import { parseConfig } from "../config.ts"
import { UsageError } from "./command.ts"
import { migrate } from "./migrate.ts"

describeOnPostgres("admin migrate --plan", () => {
  test("prints each statement with its table, rows, locks and time, and changes nothing", async () => {
    const database = await createTestDatabase()
    const config = parseConfig(settings(database.url))
    const { db, close } = openPostgres(database.url, { maxConnections: 1 })
    expect((await migrate(["--plan"], config)).text).toBe("Nothing to migrate: the database is up to date.")
    // The database counts as one that lacks these, with the statistics of large tables.
    const lacking = ["0018_connections", "0023_directive_leases", "0024_block_list", "0037_principal_due_unlock"]
    await db.deleteFrom("migration_checksum").where("name", "in", lacking).execute()
    const large = { provider_client: 3_000_000, principal: 2_000_000, conversation: 1_000_000 }
    for (const [table, rows] of Object.entries(large)) {
      await sql`update pg_class set reltuples = ${rows} where oid = ${table}::regclass`.execute(db)
    }
    const { text } = await migrate(["--plan"], config)
    expect(text.split("\n")).toEqual([
      "0018_connections (expand)",
      "  alter table provider_client add column connection text no...",
      "    provider_client: 3000000 rows, blocks reads and writes, about 7 s",
      ...["display_name text ...", "authorization_endp...", "scopes text[] not ..."].flatMap((column) => [
        `  alter table provider_client add column ${column}`,
        "    provider_client: 3000000 rows, blocks reads and writes, under 1 s",
      ]),
      "  alter table provider_client add column requires_response_...",
      "    provider_client: 3000000 rows, blocks reads and writes, under 1 s",
      "  alter table provider_client drop constraint provider_clie...",
      "    provider_client: 3000000 rows, blocks reads and writes, under 1 s",
      "  alter table provider_client add constraint provider_clien...",
      "    provider_client: 3000000 rows, blocks reads and writes, about 16 s",
      "0023_directive_leases (only with --finish)",
      "  alter table conversation drop column member_online_at",
      "    conversation: 1000000 rows, blocks reads and writes, under 1 s",
      "0024_block_list (expand)",
      "  create table block_list ( app_id text not null, tenant_id...",
      "    block_list: 0 rows, blocks nothing, under 1 s",
      "0037_principal_due_unlock (expand)",
      "  create index principal_due_unlock on principal (lock_expi...",
      "    principal: 2000000 rows, blocks nothing, about 21 s",
    ])
    expect((await migrate(["--plan"], config)).text).toBe(text)
    await expect(migrate(["--plan", "--finish"], config)).rejects.toThrow(UsageError)
    await close()
    await database.drop()
  })
})
