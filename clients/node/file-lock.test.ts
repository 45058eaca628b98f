import { spawn } from "node:child_process"
import { once } from "node:events"
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as later } from "node:timers/promises"
import { expect, onTestFinished, test, vi } from "vitest"
import { createFileLock } from "./file-lock.ts"

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "signet-lock-"))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}
const first = (path: string) => join(path, "000000000001")
const ago = (ms: number) => new Date(Date.now() - ms)

test("one caller at a time has the lock, and each caller gets it eventually", async () => {
  const path = folder()
  let inside = 0
  let most = 0
  const run = () =>
    createFileLock(path).run(async () => {
      most = Math.max(most, ++inside)
      await later(1)
      inside--
    })
  await Promise.all(Array.from({ length: 8 }, run))
  expect(most).toBe(1)
  expect(readdirSync(path)).toHaveLength(1)
})

test("work that throws releases the lock", async () => {
  const lock = createFileLock(folder(), { waitMs: 200 })
  await expect(lock.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no")
  expect(await lock.run(async () => "yes")).toBe("yes")
})

test("a running holder keeps the lock, and a long wait fails with LOCK_BUSY", async () => {
  const path = folder()
  const lock = createFileLock(path, { waitMs: 50 })
  const [has, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const held = lock.run(() => {
    has.resolve()
    return ended.promise
  })
  await has.promise
  await expect(lock.run(async () => "no")).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  ended.resolve()
  await held
  expect(await lock.run(async () => "yes")).toBe("yes")
})

test.each<[string, object]>([
  ["that has ended", { host: hostname(), pid: 2 ** 22 + 1, began: "1" }],
  ["whose process id was reused", { host: hostname(), pid: process.pid, began: "1" }],
])("the lock of a holder %s is free at once", async (_, holder) => {
  const path = folder()
  writeFileSync(first(path), JSON.stringify(holder))
  expect(await createFileLock(path, { waitMs: 100 }).run(async () => "yes")).toBe("yes")
})

test.each<[string, string]>([
  ["of another machine", JSON.stringify({ host: "elsewhere", pid: 1, began: "" })],
  ["that is unreadable", "{"],
  ["whose process id is a text", JSON.stringify({ host: hostname(), pid: String(2 ** 22 + 1), began: "1" })],
  ["whose process id is a group's", JSON.stringify({ host: hostname(), pid: -(2 ** 22 + 1), began: "1" })],
])("the lock of a holder %s is taken over once the holder has been silent", async (_, text) => {
  const path = folder()
  writeFileSync(first(path), text)
  const lock = createFileLock(path, { waitMs: 30, staleMs: 10_000 })
  await expect(lock.run(async () => "no")).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  utimesSync(first(path), ago(11_000), ago(11_000))
  expect(await lock.run(async () => "yes")).toBe("yes")
})

test("a holder of another user is waited for", async () => {
  const path = folder()
  const killing = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("not permitted"), { code: "EPERM" })
  })
  onTestFinished(() => killing.mockRestore())
  const lock = createFileLock(path, { waitMs: 30 })
  // The system tells the start time of its process, or does not.
  for (const holder of [
    { host: hostname(), pid: process.pid, began: "" },
    { host: hostname(), pid: 2 ** 22 + 1, began: "1" },
  ]) {
    writeFileSync(first(path), JSON.stringify(holder))
    await expect(lock.run(async () => "no")).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  }
})

test.each(["link", "readFile"] as const)("a folder that fails at %s fails at once", async (name) => {
  const path = folder()
  writeFileSync(first(path), "released")
  const failing = vi
    .spyOn(fs.promises, name)
    .mockRejectedValue(Object.assign(new Error("not permitted"), { code: "EPERM" }))
  syncBuiltinESMExports()
  onTestFinished(() => {
    failing.mockRestore()
    syncBuiltinESMExports()
  })
  await expect(createFileLock(path).run(async () => "no")).rejects.toMatchObject({ code: "EPERM" })
  expect(readdirSync(path)).toEqual(["000000000001"])
})

test("a number that another process deletes before it is read is not free", async () => {
  const path = folder()
  writeFileSync(first(path), "released")
  const { readFile } = fs.promises
  let reads = 0
  const reading = vi.spyOn(fs.promises, "readFile").mockImplementation(async (...given) => {
    if (String(given[0]) === first(path) && reads++ === 0) {
      writeFileSync(join(path, "000000000002"), "released")
      rmSync(first(path))
    }
    return readFile(...given)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    reading.mockRestore()
    syncBuiltinESMExports()
  })
  expect(await createFileLock(path).run(async () => readdirSync(path))).toEqual(["000000000003"])
})

test("an overtaken holder does not release its successor's lock", async () => {
  const path = folder()
  const [held, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const frozen = createFileLock(path).run(() => {
    held.resolve()
    return ended.promise
  })
  await held.promise
  utimesSync(first(path), ago(61_000), ago(61_000))
  await createFileLock(path).run(async () => {
    ended.resolve()
    await frozen
    const [name = ""] = readdirSync(path)
    expect(readFileSync(join(path, name), "utf8")).toContain("pid")
    await expect(createFileLock(path, { waitMs: 20 }).run(async () => "no")).rejects.toThrow(
      "another process holds this lock",
    )
  })
})

test("a process that is overtaken before it creates its number does not get the lock beside the holder", async () => {
  const path = folder()
  const third = join(path, "000000000003")
  writeFileSync(first(path), "released")
  const { writeFile } = fs.promises
  const isNew = (file: unknown) => String(file).endsWith(".new")
  const writing = vi.spyOn(fs.promises, "writeFile").mockImplementation(async (...given) => {
    // This process has read that 1 is the highest number. Others take and release 2, and one holds 3 and has deleted 2.
    if (isNew(given[0])) writeFileSync(third, JSON.stringify({ host: hostname(), pid: process.pid, began: "" }))
    return writeFile(...given)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    writing.mockRestore()
    syncBuiltinESMExports()
  })
  let runs = 0
  const lock = createFileLock(path, { waitMs: 50 })
  const work = async () => ++runs
  await expect(lock.run(work)).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  expect(runs).toBe(0)
  expect(writing.mock.calls.filter(([file]) => isNew(file))).toHaveLength(1)
  expect(readdirSync(path).sort()).toEqual(["000000000001", "000000000003"])
  writing.mockRestore()
  syncBuiltinESMExports()
  writeFileSync(third, "released")
  expect(await lock.run(work)).toBe(1)
  expect(readdirSync(path)).toEqual(["000000000004"])
})

test("a killed process loses the lock", async () => {
  const path = folder()
  const module = join(import.meta.dirname, "file-lock.ts")
  const program = `import { createFileLock } from ${JSON.stringify(module)}
    await createFileLock(${JSON.stringify(path)}).run(() => { console.log("held"); return new Promise(() => setInterval(() => {}, 1000)) })`
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  await once(child.stdout, "data")
  const lock = createFileLock(path, { waitMs: 60 })
  await expect(lock.run(async () => "no")).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  child.kill("SIGKILL")
  await once(child, "close")
  expect(await lock.run(async () => "yes")).toBe("yes")
})
