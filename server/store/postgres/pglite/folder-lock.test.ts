import { spawnSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { lockFolder } from "./folder-lock.ts"

let root: string
let folder: string
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), "signet-lock-"))
  folder = path.join(root, "database")
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

const lockFile = () => `${folder}.lock`
const holder = () => JSON.parse(fs.readFileSync(lockFile(), "utf8"))
const leave = (change: object) => {
  lockFolder(folder)()
  const release = lockFolder(folder)
  const left = { ...holder(), token: "another", ...change }
  release()
  fs.writeFileSync(lockFile(), JSON.stringify(left))
}

test("a second opener is refused with the holder's name, until the first releases", () => {
  const release = lockFolder(folder)
  expect(() => lockFolder(folder)).toThrow(`${folder} is in use by process ${process.pid} on ${os.hostname()}`)
  release()
  lockFolder(folder)()
  expect(fs.readdirSync(root)).toEqual([])
})

test("another process is refused too", () => {
  const release = lockFolder(folder)
  const module = new URL("./folder-lock.ts", import.meta.url).href
  const script = `import { lockFolder } from ${JSON.stringify(module)}; lockFolder(${JSON.stringify(folder)})`
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect(stderr).toContain(`in use by process ${process.pid}`)
  expect(status).toBe(1)
  release()
})

test.each([
  ["whose process has ended", () => ({ pid: spawnSync(process.execPath, ["-e", ""]).pid })],
  ["whose process id was reused", () => ({ started: "1" })],
])("a lock %s is taken over", (_, change) => {
  leave(change())
  const release = lockFolder(folder)
  expect(holder().token).not.toBe("another")
  release()
  expect(fs.readdirSync(root)).toEqual([])
})

test.each(["", "{}", "no lock", '{"pid":0}'])("a lock that contains %j has no holder", (text) => {
  fs.writeFileSync(lockFile(), text)
  lockFolder(folder)()
  expect(fs.readdirSync(root)).toEqual([])
})

test("a lock of another machine is valid for 30 seconds after its last heartbeat", () => {
  leave({ host: "elsewhere" })
  expect(() => lockFolder(folder)).toThrow("on elsewhere")
  const silent = new Date(Date.now() - 31_000)
  fs.utimesSync(lockFile(), silent, silent)
  lockFolder(folder)()
  expect(fs.readdirSync(root)).toEqual([])
})

test("a release leaves a lock that another process holds", () => {
  const release = lockFolder(folder)
  fs.writeFileSync(lockFile(), JSON.stringify({ ...holder(), token: "another" }))
  release()
  expect(holder().token).toBe("another")
})
