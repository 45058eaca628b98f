// A migration that a start applies must not scan a large table under a lock that calls wait for.
import { expect, test } from "vitest"
import { kindOf, readMigrations, statementsOf } from "./files.ts"

/** The last migration of the first release. */
const lastOfFirstRelease = "0017_moving_both_ways"

/** Expand migrations that check the rows of an existing table under a lock, each with the reason why it may. */
const scanning: ReadonlyMap<string, string> = new Map([
  ["0018_connections", "provider_client has one row for each provider and platform of an app: tens of rows"],
  // docs/how-to/upgrade.md has the measurement; 0022 and later follow the rule.
  [
    "0021_principal_locks",
    "two checks on principal, shipped before the rule: 7.5 s of waiting calls at 10 million rows",
  ],
])

test("a migration adds a check or foreign key to an existing table as not valid, so that calls do not wait", async () => {
  const files = (await readMigrations()).filter(({ name }) => name > lastOfFirstRelease && kindOf(name) === "expand")
  expect(files.filter(({ text }) => scansTable(text)).map(({ name }) => name)).toEqual([...scanning.keys()])
  for (const text of [
    "alter table t add check (a > 0);",
    "alter table t add constraint c foreign key (a) references other (a);",
    "alter table t add column a text references other (a);",
    "alter table t add constraint c check (a > 0) not valid, add check (b > 0);",
  ])
    expect(scansTable(text), text).toBe(true)
  for (const text of [
    "alter table t add constraint c check (a in ('check', 'b')) not valid;",
    "alter table t add foreign key (a) references other (a) not valid, add b text;",
    "alter table t add column checked text default 'references';",
    "create table t (a text check (a > '')); alter table t add check (a <> 'x');",
  ])
    expect(scansTable(text), text).toBe(false)
})

/** True if a file adds a constraint to a table of an earlier file without `not valid`. */
function scansTable(text: string): boolean {
  const statements = statementsOf(text).map((statement) => statement.replaceAll(/'[^']*'/g, "''"))
  const created = statements.map((statement) => /^create (?:unlogged )?table (\w+)/i.exec(statement)?.[1])
  return statements.some((statement) => {
    const table = /^alter table (\w+)/i.exec(statement)?.[1]
    if (table === undefined || created.includes(table)) return false
    const constraints = statement.match(/\bcheck \(|\breferences\b/gi) ?? []
    return constraints.length > (statement.match(/\bnot valid\b/gi) ?? []).length
  })
}
