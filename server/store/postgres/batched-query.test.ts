import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { commitMarker } from "./batched-query.ts"
import { type Database, run } from "./sql.ts"

const insertText = "insert into batched (id, parent) values ($1, $2)"
const lastText = commitMarker + insertText

test("the driver has the version whose private methods a batch overrides", () => {
  const file = new URL("../../../node_modules/pg/package.json", import.meta.url)
  // Before an upgrade, compare lib/query.js and lib/connection.js with batched-query.ts (decision 0044).
  expect(JSON.parse(readFileSync(file, "utf8")).version).toBe("8.23.1")
})

describeOnEachStore("a statement that opens or ends its transaction", (kind) => {
  let opened: TestStore
  let next = 1
  beforeAll(async () => {
    opened = await openTestStore(kind, { maxConnections: 1 })
    const table = "create table batched (id integer primary key, parent integer references batched (id)"
    await run(opened.db, `${table} deferrable initially deferred)`, [])
  })
  afterAll(() => opened.close())

  const transaction = <T>(work: (trx: Database) => Promise<T>): Promise<T> =>
    opened.db.transaction().setIsolationLevel("read committed").execute(work)
  const isKept = async (id: number) => (await run(opened.db, "select id from batched where id = $1", [id])).length === 1
  const isInTransaction = async (db: Database) => {
    const [before, after] = [
      await run<{ now: Date }>(db, "select now(), pg_sleep(0.01)", []),
      await run<{ now: Date }>(db, "select now()", []),
    ]
    return before[0]?.now.getTime() === after[0]?.now.getTime()
  }

  test("returns its own rows, and the whole transaction is committed", async () => {
    const [first, middle, last] = [next++, next++, next++]
    const rows = await transaction(async (trx) => {
      const rows = await run<{ id: number }>(trx, `${insertText} returning id`, [first, null])
      expect(await isInTransaction(trx)).toBe(true)
      await run(trx, insertText, [middle, first])
      expect(await run(trx, `${lastText} returning id`, [last, null])).toEqual([{ id: last }])
      return rows
    })
    expect(rows).toEqual([{ id: first }])
    expect(await Promise.all([first, middle, last].map(isKept))).toEqual([true, true, true])
    expect(await isInTransaction(opened.db)).toBe(false)
  })

  test("is first and last at once", async () => {
    const id = next++
    await transaction((trx) => run(trx, lastText, [id, null]))
    expect(await isKept(id)).toBe(true)
    expect(await isInTransaction(opened.db)).toBe(false)
  })

  test("rolls back with a transaction that fails after it", async () => {
    const id = next++
    const fault = new Error("later")
    const failing = transaction(async (trx) => {
      await run(trx, insertText, [id, null])
      throw fault
    })
    await expect(failing).rejects.toBe(fault)
    expect(await isKept(id)).toBe(false)
  })

  test("sends nothing for a transaction without a statement", async () => {
    await transaction(async () => {})
    const fault = new Error("nothing")
    await expect(transaction(() => Promise.reject(fault))).rejects.toBe(fault)
    expect(await isInTransaction(opened.db)).toBe(false)
  })

  test.each([
    ["when it is first", insertText],
    ["when it is last", lastText],
  ])("rolls back when it fails %s, and the connection stays usable", async (_, text) => {
    const [taken, other] = [next++, next++]
    await run(opened.db, insertText, [taken, null])
    const refused = transaction(async (trx) => {
      if (text === lastText) await run(trx, insertText, [other, null])
      await run(trx, text, [taken, null])
    })
    await expect(refused).rejects.toMatchObject({ code: "23505" })
    expect(await isKept(other)).toBe(false)
    expect(await isInTransaction(opened.db)).toBe(false)
    await transaction((trx) => run(trx, text, [other, null]))
    expect(await isKept(other)).toBe(true)
  })

  test("fails when the commit fails, and rolls back", async () => {
    const id = next++
    await expect(transaction((trx) => run(trx, lastText, [id, 0]))).rejects.toMatchObject({ code: "23503" })
    expect(await isKept(id)).toBe(false)
    expect(await isInTransaction(opened.db)).toBe(false)
  })

  test("that could not be parsed is parsed again later", async () => {
    const text = `insert into batched_${next} (id) values ($1)`
    for (let i = 0; i < 2; i++) {
      await expect(transaction((trx) => run(trx, text, [1]))).rejects.toMatchObject({ code: "42P01" })
    }
    await run(opened.db, `create table batched_${next} (id integer)`, [])
    for (let i = 0; i < 2; i++) await transaction((trx) => run(trx, text, [1]))
    expect(await run(opened.db, `select id from batched_${next++}`, [])).toHaveLength(2)
  })

  test("is not executed when its transaction does not open", async () => {
    const [unknown, known] = [`insert into batched (id) values ($1) -- ${next}`, insertText]
    for (const [text, values] of [
      [unknown, [next]],
      [known, [next, null]],
    ] as const) {
      await opened.db.connection().execute(async (db) => {
        await run(db, "start transaction isolation level nonsense", [])
        await expect(run(db, text, values)).rejects.toMatchObject({ code: "42601" })
      })
    }
    expect(await isKept(next)).toBe(false)
    await run(opened.db, unknown, [next])
    expect(await isKept(next++)).toBe(true)
  })
})
