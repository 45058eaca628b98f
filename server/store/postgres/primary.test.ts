// Several hosts in one URL: each connection goes to the one that accepts writes.
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { freePort } from "../../../test/support/free-port.ts"
import { createTestDatabase, describeOnPostgres, type TestDatabase } from "../../../test/support/postgres.ts"
import { openPostgres } from "./open.ts"
import { hostsOf, primaryOf } from "./primary.ts"

test.each([
  ["postgres://ada:secret@one/signet", ["postgres://ada:secret@one/signet"]],
  [
    "postgres://ada:secret@one:1,two:2/signet?sslmode=verify-full",
    [
      "postgres://ada:secret@one:1/signet?sslmode=verify-full",
      "postgres://ada:secret@two:2/signet?sslmode=verify-full",
    ],
  ],
  ["postgres:///signet?host=/run/a,b", ["postgres:///signet?host=/run/a,b"]],
])("%s names its hosts", (url, hosts) => {
  expect(hostsOf(url)).toEqual(hosts)
})

describeOnPostgres("several hosts", () => {
  let database: TestDatabase
  let readOnly: TestDatabase
  let dead: string
  beforeAll(async () => {
    database = await createTestDatabase()
    readOnly = await createTestDatabase()
    const { db, close } = openPostgres(readOnly.url, { maxConnections: 1 })
    const name = new URL(readOnly.url).pathname.slice(1)
    await sql.raw(`alter database ${name} set default_transaction_read_only = on`).execute(db)
    await close()
    dead = `127.0.0.1:${await freePort()}`
  })
  afterAll(async () => {
    await database?.drop()
    await readOnly?.drop()
  })
  const withHosts = (url: string, hosts: string) => url.replace(new URL(url).host, hosts)

  test("a connection skips a host that does not answer", async () => {
    const { host } = new URL(database.url)
    const { db, close } = openPostgres(withHosts(database.url, `${dead},${host}`), { maxConnections: 2 })
    const one = () => sql<{ one: number }>`select 1 as one`.execute(db)
    expect((await Promise.all([one(), one()])).map(({ rows }) => rows)).toEqual([[{ one: 1 }], [{ one: 1 }]])
    await close()
  })

  test("a host that accepts no writes or does not answer is no primary", async () => {
    const { host } = new URL(readOnly.url)
    await expect(primaryOf(withHosts(readOnly.url, `${host},${host}`))()).rejects.toThrow("accepts writes")
    await expect(primaryOf(withHosts(database.url, `${dead},${dead}`))()).rejects.toThrow("ECONNREFUSED")
  })

  test("a connection to a primary that became a standby does not return to the pool", async () => {
    const { db, close, connections } = openPostgres(readOnly.url, { maxConnections: 1 })
    await expect(sql`create table refused (id int)`.execute(db)).rejects.toMatchObject({ code: "25006" })
    expect(connections().total).toBe(0)
    await close()
  })
})
