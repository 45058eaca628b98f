import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { CompiledQuery, sql } from "kysely"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { testAuditLogDeps } from "../../../../test/support/audit-log-deps.ts"
import { effort, isLong } from "../../../../test/support/effort.ts"
import { migrate } from "../migrate.ts"
import { createStore } from "../store.ts"
import { freshId } from "../testing/people.ts"
import { openPglite } from "./open.ts"

let root: string
beforeAll(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), "signet-pglite-"))
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

// One test on one folder, because the first start of a folder takes seconds.
test.runIf(isLong)(
  "a folder outlives its processes, however they end",
  async () => {
    const folder = path.join(root, "database")
    let acknowledged = 0
    for (let round = 0; round < effort(1, 2, 50); round++) {
      acknowledged = await killWhileWriting(folder, acknowledged + 20 + round * 37)
      // The lock of a killed process does not block the next one.
      const { db, close } = await openPglite(folder)
      const { rows } = await sql<{ whole: number; halves: number; highest: Date }>`
      select count(*) filter (where halves = 2) as whole, sum(halves) as halves, max(at) as highest
      from (select count(*) as halves, max(expires_at) as at from id_token_use group by expires_at) as number`.execute(
        db,
      )
      const [found] = rows
      // The transaction at the time of the kill may be present or absent, but not in part.
      expect(found?.whole).toBeGreaterThanOrEqual(acknowledged)
      expect(found?.whole).toBeLessThanOrEqual(acknowledged + 1)
      expect(Number(found?.halves)).toBe(2 * (found?.whole ?? 0))
      expect(found?.highest.getTime()).toBe(found?.whole)
      await close()
    }
  },
  effort(60_000, 300_000, 3_600_000),
)

test.runIf(isLong)("the folder is opened once at a time, and what was committed was synced to the disk", async () => {
  const folder = path.join(root, "database")
  const fsync = vi.spyOn(fs, "fsyncSync")
  const opened = await openPglite(folder)
  await expect(openPglite(folder)).rejects.toThrow(`in use by process ${process.pid}`)
  await migrate(opened.db)
  expect(await migrate(opened.db)).toEqual([])
  const { rows } = await sql<{ fsync: string }>`show fsync`.execute(opened.db)
  expect(rows).toEqual([{ fsync: "on" }])

  const store = createStore(opened.db, { audit: testAuditLogDeps() })
  expect(await store.isReady()).toBe(true)
  await opened.db.executeQuery(CompiledQuery.raw("checkpoint"))
  const before = fsync.mock.calls.length
  for (let n = 0; n < 10; n++) {
    await store.transaction((tx) => tx.idTokenUses.use(Buffer.from(freshId("aud").padEnd(32).slice(0, 32)), 1))
  }
  expect(fsync.mock.calls.length - before).toBeGreaterThanOrEqual(10)
  fsync.mockRestore()
  await opened.close()

  const again = await openPglite(folder)
  await again.close()
})

/** Returns the last number that was acknowledged before the kill. */
async function killWhileWriting(folder: string, until: number): Promise<number> {
  const program = fileURLToPath(new URL("./testing/write-forever.ts", import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [program, folder], { stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(child, "exit")
  let last = 0
  if (child.stdout === null) throw new Error("the program has no output")
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line)
    if (last === until) child.kill("SIGKILL")
  }
  const [, signal] = await ended
  expect(signal).toBe("SIGKILL")
  return last
}
