import { sql } from "kysely"
import { expect, test } from "vitest"
import { describeOnEachStore, openTestStore } from "../../../test/support/postgres.ts"
import { analyzeGrown } from "./statistics.ts"

describeOnEachStore("analyzeGrown", (kind) => {
  test("analyses a table at its first pages, and again once it has doubled", async () => {
    const { db } = await openTestStore(kind)
    await sql`create table "Grown" (value text)`.execute(db)
    const add = (rows: number) =>
      sql`insert into "Grown" select repeat('x', 1000) from generate_series(1, ${sql.lit(rows)})`.execute(db)
    const ofGrown = async () => (await analyzeGrown(db)).filter((name) => name.includes("Grown"))
    await add(100)
    expect(await ofGrown()).toEqual([])
    await add(100)
    expect(await ofGrown()).toEqual(['"Grown"'])
    await add(150)
    expect(await ofGrown()).toEqual([])
    await add(100)
    expect(await ofGrown()).toEqual(['"Grown"'])
    expect(await ofGrown()).toEqual([])
  })

  test("leaves tables of another owner, which it may not analyse", async () => {
    const { db } = await openTestStore(kind)
    await sql`create table foreign_grown as select repeat('x', 1000) from generate_series(1, 1000)`.execute(db)
    await db.transaction().execute(async (tx) => {
      await sql`create role runtime_of_statistics`.execute(tx)
      await sql`set local role runtime_of_statistics`.execute(tx)
      expect(await analyzeGrown(tx)).toEqual([])
      await sql`reset role`.execute(tx)
      await sql`drop role runtime_of_statistics`.execute(tx)
    })
    expect(await analyzeGrown(db)).toContain("foreign_grown")
  })
})
