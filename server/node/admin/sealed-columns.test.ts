// The list of sealed columns is complete.
import { dataKeyLabel, sealedColumns, sealedElsewhere } from "@signet/kernel/keys/sealed-columns"
import { CompiledQuery } from "kysely"
import { expect, test, vi } from "vitest"
import { describeOnPostgres } from "../../../test/support/postgres.ts"
import { resealAll } from "../../store/postgres/keys/reseal.ts"
import { run } from "../../store/postgres/sql.ts"
import { startWorld } from "../testing/sealing-world.ts"

vi.setConfig({ testTimeout: 120_000 })

describeOnPostgres("the list of sealed columns", () => {
  test("contains every column with a sealed name, each with its table's primary key", async () => {
    const { db } = await startWorld()
    const columns = await run<{ name: string }>(
      db,
      `select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and column_name like '%sealed' and data_type = 'bytea'`,
      [],
    )
    const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`)
    expect(columns.map(({ name }) => name).toSorted()).toEqual([...listed, ...sealedElsewhere].toSorted())
    for (const { table, key } of sealedColumns) {
      const { rows: keys } = await db.executeQuery<{ name: string }>(
        CompiledQuery.raw(
          `select attname as name from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
          where indrelid = $1::regclass and indisprimary`,
          [table],
        ),
      )
      expect(keys.map(({ name }) => name).toSorted()).toEqual([...key].toSorted())
    }
  })

  test("contains everything sealed under the service's key: each value opens with its label", async () => {
    const { db, first } = await startWorld()
    const seen = new Set<string>()
    const pass = await resealAll(
      db,
      ({ scheme, label }, sealed) => {
        seen.add(label.split("|")[0] ?? "")
        return first.opened.sealing.reseal(scheme, label, sealed)
      },
      { isDry: true },
    )
    expect(pass).toMatchObject({ resealed: 0, unopened: new Map() })
    const all = [
      "provider-client-secret",
      "provider-token-secret",
      "provider-refresh-token",
      "signing-key",
      "issuer-key",
    ]
    expect([...seen].toSorted()).toEqual([...all, dataKeyLabel("").slice(0, -1)].toSorted())
  })
})
