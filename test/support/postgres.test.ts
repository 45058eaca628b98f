import { expect, test } from "vitest"
import { createTestDatabase, describeOnEachStore, describeOnPostgres, openTestStore } from "./postgres.ts"

describeOnEachStore("a test store", (kind) => {
  test("is migrated and empty, and its own", async () => {
    const [one, other] = await Promise.all([openTestStore(kind), openTestStore(kind)])
    expect(await one.store.isReady()).toBe(true)
    await one.db
      .insertInto("migration_checksum")
      .values({ name: "mine", sha256: "0".repeat(64) })
      .execute()
    const names = await other.db.selectFrom("migration_checksum").select("name").execute()
    expect(names.map((row) => row.name)).not.toContain("mine")
    await Promise.all([one.close(), other.close()])
  })
})

describeOnPostgres("a test database", () => {
  test("may be empty", async () => {
    const database = await createTestDatabase({ migrated: false })
    expect(database.url).toMatch(/^postgres/)
    await database.drop()
  })
})
