import { spawn } from "node:child_process"
import { once } from "node:events"
import type { Revocation } from "@signet/kernel/machine/records"
import type { LoggedRevocation } from "@signet/kernel/revocation/entry"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { effort, isLong } from "../../../../test/support/effort.ts"
import {
  createTestDatabase,
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { openPostgres } from "../open.ts"
import type { Database } from "../sql.ts"
import { sweep } from "../sweep.ts"
import { createRevocationLog, restartRevocationLog } from "./revocation-log.ts"
import { revocations } from "./revocations.ts"

const token = (name: string | number, expiresAtMs = 900_000): Revocation => ({
  kind: "TOKEN",
  key: `jti_${name}`,
  expiresAtMs,
})
const read = ({ revocationLog }: Pick<TestStore, "revocationLog">, after = 0, change = {}) =>
  revocationLog.read({ after, limit: 100, nowMs: 1_000, ...change })
const told = (entries: readonly LoggedRevocation[]) => entries.map(({ seq, key }) => `${seq} ${key}`)
/** Assigns sequence numbers until no entry is pending. */
async function sequence({ revocationLog }: Pick<TestStore, "revocationLog">): Promise<void> {
  while ((await revocationLog.sequence()) > 0);
}

describeOnEachStore("the revocation log", (kind) => {
  let opened: TestStore
  let add: (...entries: Revocation[]) => Promise<void>
  beforeAll(async () => {
    opened = await openTestStore(kind)
    add = (...entries) => opened.store.transaction((tx) => tx.revocations.add(entries))
  })
  beforeEach(async () => {
    await opened.db.deleteFrom("revocation").execute()
    await opened.db.updateTable("revocation_log").set({ head: 0 }).execute()
  })
  afterAll(() => opened.close())

  test("an entry has no sequence number until one is assigned, and then keeps it", async () => {
    const { log } = await read(opened)
    await add(token("a"))
    expect(await read(opened)).toEqual({ log, head: 0, to: 0, entries: [], isPending: true })
    expect(await opened.revocationLog.sequence()).toBe(1)
    expect(await opened.revocationLog.sequence()).toBe(0)
    await add(token("b"))
    await sequence(opened)
    const entries = [
      { seq: 1, kind: "TOKEN", key: "jti_a", expiresAtMs: 900_000 },
      { seq: 2, kind: "TOKEN", key: "jti_b", expiresAtMs: 900_000 },
    ]
    expect(await read(opened)).toEqual({ log, head: 2, to: 2, entries, isPending: false })
    expect(told((await read(opened, 1)).entries)).toEqual(["2 jti_b"])
    expect(await read(opened, 2)).toMatchObject({ head: 2, to: 2, entries: [] })
    expect(await read(opened, 0, { limit: 1 })).toMatchObject({ head: 2, to: 1, entries: [{ seq: 1 }] })
  })

  test("a changed entry is published once more, with a new sequence number", async () => {
    await add({ kind: "PRINCIPAL", key: principal, expiresAtMs: 900_000 }, token("a"))
    await sequence(opened)
    let committed = 0
    const onRevoked = () => committed++
    opened.onRevoked.add(onRevoked)
    await opened.store.transaction((tx) => tx.revocations.lift({ kind: "PRINCIPAL", key: principal }, 61_234))
    opened.onRevoked.delete(onRevoked)
    expect(committed).toBe(1)
    await sequence(opened)
    const { entries, head } = await read(opened)
    expect(head).toBe(3)
    expect(entries).toMatchObject([{ key: "jti_a" }, { seq: 3, key: principal, issuedBeforeMs: 61_000 }])
    // Suspended again: every token is refused, whenever it was issued.
    await add({ kind: "PRINCIPAL", key: principal, expiresAtMs: 800_000 })
    await sequence(opened)
    expect((await read(opened)).entries.at(-1)).toEqual({
      seq: 4,
      kind: "PRINCIPAL",
      key: principal,
      expiresAtMs: 900_000,
    })
  })

  test("a changed entry keeps its old sequence number until it has a new one", async () => {
    const entry = { kind: "AUTHORITY", key: principal, appId, expiresAtMs: 900_000 } as const
    await add({ ...entry, minVersion: 3 }, token("a"))
    await sequence(opened)
    const [place] = (await read(opened)).entries.filter(({ kind }) => kind === "AUTHORITY")
    await add({ ...entry, minVersion: 4 })
    const meanwhile = await read(opened)
    expect(meanwhile).toMatchObject({ head: 2, isPending: true })
    expect(meanwhile.entries).toContainEqual({ ...place, minVersion: 4 })
    await sequence(opened)
    expect((await read(opened, 2)).entries).toMatchObject([{ seq: 3, key: principal, minVersion: 4 }])
    expect((await read(opened)).entries).toHaveLength(2)
  })

  test("an expired entry is not published, and leaves no gap", async () => {
    await add(token("a", 2_000), token("b"))
    await sequence(opened)
    // Clocks may differ: a token is accepted for the skew after it expired.
    expect(told((await read(opened, 0, { nowMs: 31_999 })).entries)).toEqual(["1 jti_a", "2 jti_b"])
    expect(await read(opened, 0, { nowMs: 32_000 })).toMatchObject({ head: 2, to: 2, entries: [{ key: "jti_b" }] })
    expect((await sweep(opened.db, 31_999)).revocations).toBe(0)
    await sweep(opened.db, 950_000)
    expect(await read(opened)).toMatchObject({ head: 2, to: 2, entries: [], isPending: false })
    await add(token("c"))
    await sequence(opened)
    expect(told((await read(opened)).entries)).toEqual(["3 jti_c"])
  })

  test("a restarted log has another name, and revokes all issued tokens", async () => {
    const before = await read(opened)
    await restartRevocationLog(opened.db, 5_000)
    await sequence(opened)
    const after = await read(opened)
    expect(after.log).not.toBe(before.log)
    // For the life of an earlier context token, which is longer than an access token's.
    const expiresAtMs = 5_000 + longestContextMs
    expect(after.entries).toMatchObject([{ kind: "ISSUER_EPOCH", key: "all", issuedBeforeMs: 6_000, expiresAtMs }])
  })
})

const principal = "prn_01h455vb4pex5vsknk084sn02q" as Extract<Revocation, { kind: "PRINCIPAL" }>["key"]
const appId = "app_01h455vb4pex5vsknk084sn02q" as Extract<Revocation, { kind: "APP" }>["key"]

describeOnPostgres("the revocation log, written by many", () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let open: ReturnType<typeof openPostgres>
  beforeEach(async () => {
    database = await createTestDatabase()
    open = openPostgres(database.url, { maxConnections: 20 })
  })
  afterEach(async () => {
    await open.close()
    await database.drop()
  })
  const logOf = (db: Database) => ({ revocationLog: createRevocationLog(db) })
  /** A transaction that the test commits. */
  async function holding(...entries: Revocation[]) {
    const [added, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const done = open.db.transaction().execute(async (trx) => {
      await revocations(trx).add(entries)
      added.resolve()
      await commit.promise
    })
    await added.promise
    return {
      async commit() {
        commit.resolve()
        await done
      },
    }
  }

  test("an entry of a late transaction gets a sequence number above all that were read", async () => {
    const log = logOf(open.db)
    const late = await holding(token("late"))
    await revocations(open.db).add([token("early")])
    await sequence(log)
    expect(told((await read(log)).entries)).toEqual(["1 jti_early"])
    await late.commit()
    await sequence(log)
    expect(told((await read(log, 1)).entries)).toEqual(["2 jti_late"])
  })

  test("a write to a pending entry delays no other entry", async () => {
    const log = logOf(open.db)
    await revocations(open.db).add([token("held"), token("free")])
    const slow = await holding(token("held", 999_000))
    await sequence(log)
    // It reports that an entry is pending, so readers do not treat its end as complete.
    expect(await read(log)).toMatchObject({ head: 1, isPending: true, entries: [{ key: "jti_free" }] })
    await slow.commit()
    await sequence(log)
    expect((await read(log, 1)).entries).toMatchObject([{ seq: 2, key: "jti_held", expiresAtMs: 999_000 }])
  })

  describe("sequence numbers are dense, and a reader misses nothing", () => {
    const count = effort(200, 2_000, 20_000)

    /** Reads as a verifier does, until `isDone`. @returns The read sequence numbers, in order. */
    async function follow(db: Database, isDone: () => boolean): Promise<number[]> {
      const seqs: number[] = []
      const log = createRevocationLog(db)
      for (let after = 0; ; ) {
        const wasDone = isDone()
        const part = await log.read({ after, limit: 50, nowMs: 1_000 })
        seqs.push(...part.entries.map(({ seq }) => seq))
        after = part.to
        if (wasDone && after === part.head && !part.isPending) return seqs
      }
    }
    async function write(): Promise<void> {
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let i = writer; i < count; i += 4) {
          await open.db.transaction().execute(async (trx) => {
            await revocations(trx).add([token(i)])
            if (i % 7 === 0) await new Promise((resolve) => setTimeout(resolve, i % 3))
          })
        }
      })
      await Promise.all(writers)
    }
    const all = Array.from({ length: count }, (_, i) => i + 1)

    test("while four processes assign them at once", async () => {
      let isWritten = false
      const others = Array.from({ length: 4 }, async () => {
        const log = createRevocationLog(open.db)
        while (!isWritten || (await log.sequence()) > 0) await log.sequence()
      })
      const reader = follow(open.db, () => isWritten)
      await write()
      isWritten = true
      await Promise.all(others)
      expect(await reader).toEqual(all)
    })

    test.runIf(isLong)("while the assigning process is killed, again and again", async () => {
      let isWritten = false
      let killed = 0
      const script = new URL("../testing/sequence-forever.ts", import.meta.url).pathname
      const killing = (async () => {
        while (!isWritten || killed < 2) {
          const child = spawn(process.execPath, [script, database.url], { stdio: ["ignore", "pipe", "ignore"] })
          const gone = once(child, "exit")
          await once(child.stdout, "data")
          await new Promise((resolve) => setTimeout(resolve, 5 + 13 * killed))
          child.kill("SIGKILL")
          killed++
          await gone
        }
      })()
      const reader = follow(open.db, () => isWritten && killed >= 2)
      await write()
      isWritten = true
      await killing
      await sequence(logOf(open.db))
      expect(await reader).toEqual(all)
    })
  })
})
