// A migration must hold no lock for a time that grows with a table. The transaction of a file holds each lock to its end.
import { expect, test } from "vitest"
import { readMigrations } from "./files.ts"
import { planMigration } from "./plan.ts"

/** The last migration of the first release. */
const lastOfFirstRelease = "0017_moving_both_ways"

/** Migrations whose locks grow with a table, each with the reason why it may. */
const growing: ReadonlyMap<string, string> = new Map([
  ["0018_connections", "provider_client has one row for each provider and platform of an app: tens of rows"],
])

test("a migration holds its locks for a time that does not grow with a table", async () => {
  const files = (await readMigrations()).filter(({ name }) => name > lastOfFirstRelease)
  expect(files.filter(({ name, text }) => holdsLocks(text, name)).map(({ name }) => name)).toEqual([...growing.keys()])
})

test.each([
  "alter table t add check (a > 0);",
  "alter table t add constraint c foreign key (a) references other (a);",
  "alter table t add column a text references other (a);",
  "alter table t add column a text check (a <> 'not valid');",
  "alter table t add constraint c check (a > 0) not valid, add check (b > 0);",
  "alter table t add check (b > 0), add constraint c check (a > 0) not valid;",
  "alter table t add constraint c unique (a);",
  "alter table t add column a text unique;",
  "alter table t alter column a set not null;",
  "alter table t alter column a type bigint;",
  "alter table t add column a text default gen_random_uuid();",
  "update t set a = '' where b = 'LOCKED';",
  "delete from t where a is null;",
  "insert into t select * from other;",
  "create table new (a text); insert into new select a from t;",
  "alter table t add column a text; create index t_a on t (a);",
  "with old as (select 1) update t set a = '';",
  "lock table t;",
])("a file of an upgrade must not have: %s", (text) => {
  expect(holdsLocks(text)).toBe(true)
})

test.each([
  "alter table t add constraint c check (a in ('check', 'b')) not valid;",
  "alter table t add foreign key (a, b) references other (a, b) not valid, add b text;",
  "alter table t add column checked text default 'references';",
  "alter table t add column a timestamptz not null default now();",
  "alter table t alter column a drop not null, drop column b;",
  "create table t (a text check (a > '')); alter table t add check (a <> 'x'); create index t_a on t (a);",
  "create index t_a on t (a); create unique index t_b on t (b);",
  "drop table t;",
])("a file of an upgrade may have: %s", (text) => {
  expect(holdsLocks(text)).toBe(false)
})

test("a batch of a backfill is bounded by its limit", () => {
  const text = "update t set a = '' where id in (select id from t where a is null limit 1000);"
  expect(holdsLocks(text, "9999_backfill_t")).toBe(false)
  expect(holdsLocks(text)).toBe(true)
})

/** True if `admin migrate --plan` expects calls to wait longer for larger tables, or does not know the statement. */
function holdsLocks(text: string, name = "9999_test"): boolean {
  const planned = [1_000, 1_000_000].map((rows) => planMigration({ name, text, sha256: "" }, () => rows))
  const [small, large] = planned.map(({ statements }) =>
    statements.filter(({ blocks }) => blocks !== "nothing").reduce((sum, { seconds }) => sum + seconds, 0),
  )
  if (planned[0]?.statements.some(({ table }) => table === "")) return true
  return planned[0]?.kind !== "backfill" && small !== large
}
