import { createHash } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "kysely"
import { expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import {
  createTestDatabase,
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
} from "../../../test/support/postgres.ts"
import { isMigrated, migrate, readMigrations } from "./migrate.ts"
import { kindOf, statementsOf } from "./migrating/files.ts"
import { planMigrations } from "./migrating/plan.ts"
import { openPostgres } from "./open.ts"
import type { Database } from "./sql.ts"

test("a migration that was shipped is never edited: write a new one instead", async () => {
  const shipped = Object.fromEntries((await readMigrations()).map(({ name, sha256 }) => [name, sha256]))
  expect(shipped).toEqual({
    "0001_identity": "a60db51e5c4f022576afd05c1a0cecb822b37cead978b66fa75766d0fd31452d",
    "0002_machines": "7a122bb09b3bc0a7f4fecbbb267e2c6335073c54a86466733ba375432d68ffd5",
    "0003_limits": "4c67efe4d2dbeeafb7a3b270c4453a40d01bfda22ce6b3e9a429344da1cd5991",
    "0004_administration": "866160392272309d41788a80f667f3d099eb6ab3dc8b853a2da90f7edd6f946a",
    "0005_messaging": "758991c08c82cfa12963c0f403805075588711eb1ee47432bef259ff5f7dc7f8",
    "0006_issuer_keys": "e41c89f81b182c5b886be6c2a2d39a485ac0b273555c4836e2d90b9d91f06f7f",
    "0007_audit_list": "e172b02c63ca0fffb72cfd0679e74053cc8d2433f6886c7b702c1a0fee26af85",
    "0008_key_purposes": "3f8bad25a79789c605ced5c5253e23463ec49f9581b1c96262b5edf6307bc101",
    "0009_authority": "5bdf5991e304141b8bb3cb58e18845f868ca1fd23612a89db4f18941859e60f5",
    "0010_revocation_feed": "e92d2d1150f9c9274aab7b6c3c28df6e80baaa51bfe8482a6890592942ab014e",
    "0011_audit_chain": "533ac14dd1de9d4440ad9374472ca13b970d3973e92c80ef187af18578fcfe73",
    "0012_envelopes": "c607a0a646cb5416f2cb9e0ebb3f89b37bbce2592de937769d9c94c1ca07f7a6",
    "0013_revocation_places": "52ed7cbb03c2da071a92f179a34d267fd80407e3ba2810971f3ae39d51b8edff",
    "0014_audit_places": "c983f1d28eeb168c4664a98f1dfa11fd47b58f714e8629310209eb9c60d42333",
    "0015_receipt_keys": "8711e15ec93419e10146f7faa34258d53f28e0ae7cd493de2d53309cb28b73ab",
    "0016_moving": "a90043fc0e26ace53f2f9ff9ae4642109a0173ff20fff04a9482627f933dba4d",
    "0017_moving_both_ways": "1c890af3a99bb532e3f26ddd7835b09c34f08183012e8dfd7ff1c172806dd1a1",
    "0018_connections": "d5c0a307f8d6c5b92530e06c21269726d65cc467d11db9254957188e0cf4178b",
    "0019_user_lookup": "05527bd9dad4d16d0ae5c056dd4b2a6ed453e99f11be1a3fef80dc31541c24f9",
    "0020_audit_address_and_auth_time": "def4a3b98c0422f39838de1777b0abad4811c92c68dc14f7dd968a4ff808a317",
    "0021_principal_locks": "ef5df27fc5532b46c14c5aacd01e415e5585bf8379aa44d93c9dc91dedee01d3",
    "0022_sealing_keys": "b078a7a00cca1fa3e4c184e9bcd4b9b837078650a728fb8eac120d0a74bc11a1",
    "0023_directive_leases": "f8c03c5ca3ade8af03e1193ab993561c0e19ab2a1e9b17404b7953819ed2c571",
    "0024_block_list": "58e46eba0643656fecfa7bd050697adc3922cce703feb081ebe4bc6fc849e989",
    "0026_archive_list": "1d6d7111eab085bfb72e42812b1745961c78d5fdad4fa8617f19bafdadde2ff1",
    "0027_push_endpoints": "0fdbf3edc214ba97bcd3090872670a7b9546dc348abad3e9c3e5ec21b4f36f2f",
    "0030_push_endpoint_session": "97be5cea45550a6246ce1fbe1f2b259fbc94c2638baf156a84f51295034af5df",
    "0031_audit_filters": "1834ce5ac67989684a9f30a392ee885ab449d7b1b88686b6ddbcb26517544182",
    "0033_session_without_auth_time": "4ab087359e6539e68296ef31c8338c39dafe5484973e4591d7a7322d9c68908c",
    "0035_limit_refusals": "d2fbec88358fc33253e83f071a2e32f8f81f178bc6d915707d628846d442cb7a",
    "0036_place_lists": "7594347f9353a56acc969a31db5fe6b6f0d921cf0fe74e39c872027dd2b2f240",
    "0037_principal_due_unlock": "248dbf6dcb9b2acf7d9ed87f88e0962b8e68a61fdcd378ae69e5c0342f10a745",
    "0038_policy_delegations": "def5d2b58ad04dcdf5248884b0919d9a5fc01740ca998db6be9af4d882127e58",
  })
})

/** What 0021 was before the first release. Its checks, its update and its index ran under one lock of the table. */
const formerLocks = `-- An administrator locks a principal for a time.
alter table principal
  add column lock_expires_at timestamptz,
  add column lock_reason text,
  add check (lock_reason is null or length(lock_reason) <= 500);
update principal set lock_expires_at = now(), lock_reason = '' where status = 'LOCKED';
alter table principal add check ((status = 'LOCKED') = (lock_expires_at is not null));
create index principal_due_unlock on principal (lock_expires_at) where lock_expires_at is not null;
`

test("migrations use portable SQL only", async () => {
  const forbidden =
    /\b(trigger|function|plpgsql|sequence|serial|generated|partition|truncate|savepoint|listen|notify|advisory|do)\b/i
  for (const { name, text } of await readMigrations()) {
    const statements = text.replaceAll(/--.*$/gm, "")
    expect(forbidden.exec(statements)?.[0], name).toBeUndefined()
  }
})

/** The changes that servers of the previous release may not survive. Its own migrations end with 0017. */
const contracting =
  /\bdrop (table|column)\b|\brename\b|\bset not null\b|\balter column \w+ (set data )?type\b|\bdrop default\b/i

test("a migration that drops or renames is applied only when an upgrade is finished", async () => {
  const files = (await readMigrations()).filter(({ name }) => name > "0018")
  const found = files.filter(({ text }) => statementsOf(text).some((statement) => contracting.test(statement)))
  expect(found.map(({ name }) => name)).toEqual(["0020_audit_address_and_auth_time", "0023_directive_leases"])
  for (const { name } of found) expect(kindOf(name), name).toBe("finish")
})

test("statements are split outside of texts and comments", () => {
  const text = "-- a; b\ncreate table t (a text default ';');\n  update t set a = 'x' -- c;\n where a = '';"
  expect(statementsOf(text)).toEqual(["create table t (a text default ';')", "update t set a = 'x' where a = ''"])
})

const file = (name: string, text: string) => ({ name, text, sha256: "3".repeat(64) })

describeOnEachStore("an upgrade", (kind) => {
  test("keeps what the release before uses until it is finished", async () => {
    const { db, close } = await openTestStore(kind)
    const files = [
      ...(await readMigrations()),
      file("9997_old", "create table old (id integer primary key, a text); insert into old select 1, 'x';"),
    ]
    await migrate(db, { files })
    const upgrade = [
      ...files,
      file("9998_finish_old", "alter table old drop column a;"),
      file("9999_new", "alter table old add column b text;"),
    ]
    expect(await migrate(db, { files: upgrade })).toEqual(["9999_new"])
    expect(await isMigrated(db, upgrade)).toBe(true)
    expect((await sql`select a, b from old`.execute(db)).rows).toEqual([{ a: "x", b: null }])
    expect(await migrate(db, { files: upgrade, scope: "finish" })).toEqual(["9998_finish_old"])
    expect((await sql`select * from old`.execute(db)).rows).toEqual([{ id: 1, b: null }])
    await close()
  })

  test("backfills in batches, and an interrupted backfill goes on", async () => {
    const { db, close } = await openTestStore(kind)
    const files = [
      ...(await readMigrations()),
      file(
        "9997_rows",
        "create table item (id integer primary key, b text); insert into item select generate_series(1, 25);",
      ),
    ]
    await migrate(db, { files })
    const text = (fails: string) => `update item set b = 'new' where id in (
      select id from item where b is null order by id limit 10) and (${fails})`
    // Fails in the third batch.
    const broken = [...files, file("9998_backfill_item", text("id < 21 or 1 / (id - id) = 0"))]
    await expect(migrate(db, { files: broken, scope: "backfill" })).rejects.toThrow("division by zero")
    const count = async () => (await sql`select count(b)::int as n from item`.execute(db)).rows
    expect(await count()).toEqual([{ n: 20 }])
    const fixed = [...files, file("9998_backfill_item", text("true"))]
    expect(await migrate(db, { files: fixed })).toEqual([])
    expect(await migrate(db, { files: fixed, scope: "backfill" })).toEqual(["9998_backfill_item"])
    expect(await count()).toEqual([{ n: 25 }])
    await close()
  })

  test("a backfill ends while servers of the release before add rows, and the end of the upgrade changes these", async () => {
    const { db, close } = await openTestStore(kind)
    const rows = "create table item (id integer primary key, b text); insert into item select generate_series(1, 25);"
    const before = [...(await readMigrations()), file("9997_rows", rows)]
    await migrate(db, { files: before })
    // Each batch adds a row that is due, as an old server does.
    const files = [
      ...before,
      file(
        "9998_backfill_item",
        `with added as (insert into item select n + 1 from (select count(*)::integer as n from item) counted
            where n < 40 and exists (select from item where b is null))
          update item set b = 'new' where id in (select id from item where b is null order by id limit 10)`,
      ),
    ]
    const batches: number[] = []
    const options = { files, onBatch: (_: string, changed: number) => batches.push(changed) }
    expect(await migrate(db, { ...options, scope: "backfill" })).toEqual(["9998_backfill_item"])
    expect(batches).toEqual([10, 10, 7, 1])
    expect((await sql`select count(*)::int as n from item where b is null`.execute(db)).rows).toEqual([{ n: 1 }])
    await migrate(db, { ...options, scope: "finish" })
    expect((await sql`select count(*)::int as n from item where b is null`.execute(db)).rows).toEqual([{ n: 0 }])
    expect(await migrate(db, { ...options, scope: "finish" })).toEqual([])
    await close()
  })

  test("refuses a backfill that changes all rows at once", async () => {
    const { db, close } = await openTestStore(kind)
    const files = [
      ...(await readMigrations()),
      file("9997_rows", "create table item (id integer primary key, b text);"),
    ]
    await migrate(db, { files })
    const whole = [...files, file("9998_backfill_item", "update item set b = 'new' where b is null")]
    await expect(migrate(db, { files: whole, scope: "backfill" })).rejects.toThrow(
      "the backfill 9998_backfill_item has no limit: it changes one batch of rows",
    )
    await close()
  })

  test("builds indexes without blocking writes, and replaces one whose build was interrupted", async () => {
    const { db, close } = await openTestStore(kind)
    const files = [
      ...(await readMigrations()),
      file("9997_rows", "create table item (id integer, b text); insert into item values (1, 'x'), (1, 'x');"),
    ]
    await migrate(db, { files })
    const next = [
      ...files,
      file("9998_index", "create unique index item_id on item (id);\ncreate index item_b on item (b);"),
    ]
    await expect(migrate(db, { files: next })).rejects.toMatchObject({ code: "23505" })
    await sql`delete from item where ctid = (select min(ctid) from item)`.execute(db)
    expect(await migrate(db, { files: next })).toEqual(["9998_index"])
    const { rows } = await sql`select relname, indisvalid from pg_index join pg_class on indexrelid = oid
      where relname like 'item%' order by relname`.execute(db)
    expect(rows).toEqual([
      { relname: "item_b", indisvalid: true },
      { relname: "item_id", indisvalid: true },
    ])
    await close()
  })

  test("is planned with its tables, rows and locks", async () => {
    const { db, close } = await openTestStore(kind)
    const item = "create table item (id integer primary key); insert into item select generate_series(1, 5000);"
    await migrate(db, { files: [...(await readMigrations()), file("9997_rows", item)] })
    await sql`analyze item`.execute(db)
    const [first, second, third] = await planMigrations(db, [
      file("9998_a", "create index item_id on item (id);"),
      file(
        "9998_b",
        "create table more (id integer); create index more_id on more (id); alter table item add check (id > 0);",
      ),
      file("9999_finish_c", "drop table item;"),
    ])
    expect(first?.statements).toMatchObject([{ table: "item", rows: 5_000, blocks: "nothing" }])
    expect(second?.statements).toMatchObject([
      { table: "more", rows: 0, blocks: "nothing" },
      { table: "more", rows: 0, blocks: "nothing" },
      { table: "item", rows: 5_000, blocks: "reads and writes" },
    ])
    expect(third).toMatchObject({ kind: "finish", statements: [{ table: "item", blocks: "reads and writes" }] })
    await close()
  })
})

describeOnEachStore("migrations", (kind) => {
  test("are idempotent, add new files, and refuse changed ones", async () => {
    const { db, close } = await openTestStore(kind)
    const files = await readMigrations()
    expect(await migrate(db)).toEqual([])
    expect(await isMigrated(db)).toBe(true)

    const next = { name: "9999_next", text: "create table next (id text); select 1;", sha256: "1".repeat(64) }
    expect(await isMigrated(db, [...files, next])).toBe(false)
    expect(await migrate(db, { files: [...files, next] })).toEqual(["9999_next"])
    expect(await isMigrated(db, [...files, next])).toBe(true)
    // An older program still runs on a newer schema.
    expect(await isMigrated(db, files)).toBe(true)

    const changed = [...files, { ...next, sha256: "2".repeat(64) }]
    await expect(migrate(db, { files: changed })).rejects.toThrow(
      "migration 9999_next was changed after this database applied it",
    )
    expect(await isMigrated(db, changed)).toBe(false)
    await close()
  })

  test("that fail are rolled back", async () => {
    const { db, close } = await openTestStore(kind)
    const broken = { name: "9999_broken", text: "create table half (id text); select nothing;", sha256: "1".repeat(64) }
    await expect(migrate(db, { files: [...(await readMigrations()), broken] })).rejects.toMatchObject({ code: "42703" })
    const { rows } = await sql`select to_regclass('half') as half`.execute(db)
    expect(rows).toEqual([{ half: null }])
    await close()
  })
})

/** Checks and indexes. A check that was added as not valid is compared without this mark. */
async function principalOf(db: Database): Promise<unknown> {
  const { rows } = await sql`select conname as name, replace(pg_get_constraintdef(oid), ' NOT VALID', '') as text
      from pg_constraint where conrelid = 'principal'::regclass
    union all select indexname, indexdef from pg_indexes where tablename = 'principal'
      and schemaname = current_schema() order by name`.execute(db)
  return rows
}

describeOnPostgres("migrations from several processes", () => {
  test.runIf(isLong)("wait two seconds for a lock at most, so that calls go on, and try again", async () => {
    const { db, close } = await openTestStore("postgres")
    const files = [...(await readMigrations()), file("9997_rows", "create table item (id integer);")]
    await migrate(db, { files })
    const release = Promise.withResolvers<void>()
    const held = db.transaction().execute(async (trx) => {
      await sql`select * from item`.execute(trx)
      await release.promise
    })
    const attempts: number[] = []
    const next = [...files, file("9998_column", "alter table item add column b text;")]
    const migrated = migrate(db, { files: next, onRetry: (_, attempt) => attempts.push(attempt) })
    let longestMs = 0
    while (attempts.length < 2) {
      const startedAt = performance.now()
      await sql`insert into item values (1)`.execute(db)
      longestMs = Math.max(longestMs, performance.now() - startedAt)
    }
    release.resolve()
    await held
    expect(await migrated).toEqual(["9998_column"])
    expect(longestMs).toBeLessThan(4_000)
    await close()
  })

  test.runIf(isLong)("build an index after an older transaction that lasts longer than the lock timeout", async () => {
    const database = await createTestDatabase()
    const rows = file("9997_rows", "create table item (id integer);")
    const { db, close } = openPostgres(database.url, { maxConnections: 2, statementSeconds: 4 })
    const files = [...(await readMigrations()), rows]
    await migrate(db, { files })
    const other = openPostgres(database.url, { maxConnections: 1 })
    const dump = other.db.transaction().setIsolationLevel("repeatable read")
    const dumped = dump.execute(async (trx) => {
      await sql`select count(*) from item`.execute(trx)
      await sleep(4_000)
    })
    await sleep(300)
    const index = file("9998_index", "create index item_id on item (id);")
    expect(await migrate(db, { files: [...files, index] })).toEqual(["9998_index"])
    await dumped
    await Promise.all([close(), other.close()])
    await database.drop()
  })

  test.runIf(isLong)("of four concurrent processes, one migrates an empty database, and all succeed", async () => {
    const database = await createTestDatabase({ migrated: false })
    const programs = Array.from({ length: 4 }, () => openPostgres(database.url, { maxConnections: 2 }))
    const applied = await Promise.all(programs.map(({ db }) => migrate(db)))
    expect(applied.flat()).toEqual((await readMigrations()).map(({ name }) => name))
    for (const { db, close } of programs) {
      expect(await isMigrated(db)).toBe(true)
      await close()
    }
    await database.drop()
  })

  test.runIf(isLong)("go on from the former text of one, to the schema that its text today has", async () => {
    const [database, other] = [await createTestDatabase({ migrated: false }), await createTestDatabase()]
    const { db, close } = openPostgres(database.url, { maxConnections: 2 })
    const fresh = openPostgres(other.url, { maxConnections: 1 })
    const files = await readMigrations()
    const at = files.findIndex(({ name }) => name === "0021_principal_locks")
    const sha256 = createHash("sha256").update(formerLocks).digest("hex")
    await migrate(db, { files: [...files.slice(0, at), { ...file("0021_principal_locks", formerLocks), sha256 }] })
    expect(await migrate(db, { scope: "finish" })).toEqual(files.slice(at + 1).map(({ name }) => name))
    expect(await isMigrated(db)).toBe(true)
    expect(await principalOf(db)).toEqual(await principalOf(fresh.db))
    await Promise.all([close(), fresh.close()])
    await Promise.all([database.drop(), other.drop()])
  })

  test("a database without migrations is not ready", async () => {
    const database = await createTestDatabase({ migrated: false })
    const { db, close } = openPostgres(database.url)
    expect(await isMigrated(db)).toBe(false)
    await close()
    await database.drop()
  })
})
