// Windows data protection, by the documented behaviour of PowerShell and DPAPI: these tests have not run on Windows.
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { isLong, sample } from "../../../test/support/effort.ts"
import { createFileStorage } from "../file-storage.ts"
import type { DpapiOptions } from "./dpapi.ts"
import { openOsSecretBox } from "./os-store.ts"

const scope = { app: "app_1", user: "ada" }
const bytes = (text: string) => new TextEncoder().encode(text)
const lock = { run: <T>(work: () => Promise<T>) => work() }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signet-dpapi-"))
  const fake = join(import.meta.dirname, "testing/fake-powershell.mjs")
  writeFileSync(join(folder, "powershell"), `#!/bin/sh\nexec "${process.execPath}" "${fake}" "${folder}" "$@"\n`)
  chmodSync(join(folder, "powershell"), 0o700)
  become("fine")
  signIn("ada")
})
afterEach(() => rmSync(folder, { recursive: true }))

const become = (mood: string) => writeFileSync(join(folder, "mood"), mood)
const signIn = (user: string) => writeFileSync(join(folder, "user"), user)
const kept = () => readdirSync(join(folder, "keys")).map((name) => readFileSync(join(folder, "keys", name)))
const boxWith = (change: DpapiOptions = {}) => {
  const storage = createFileStorage(join(folder, "keys"))
  return openOsSecretBox({
    lock,
    platform: "win32",
    dpapi: { storage, program: join(folder, "powershell"), ...change },
  })
}

test.runIf(isLong)("sealed bytes open for their scope alone, also after a restart and a rotation", async () => {
  const box = await boxWith()
  expect(box.describe()).toEqual({
    backend: "windows-dpapi",
    version: 1,
    hardware: false,
    deviceBound: false,
    persistent: true,
  })
  await box.createKey(scope)
  const sealed = await box.seal(scope, "token", bytes("secret"))
  await box.rotate(scope)
  const again = await boxWith()
  expect(await again.open(scope, "token", sealed)).toEqual(bytes("secret"))
  const other = { ...scope, user: "eve" }
  await again.createKey(other)
  await expect(again.open(other, "token", sealed)).rejects.toMatchObject({ reason: "WRONG_USER" })
  await expect(again.open(scope, "state", sealed)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
  await again.destroy(scope)
  await expect(again.open(scope, "token", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test.runIf(isLong)(
  "keys and sealed bytes are on no command line, and PowerShell runs without profile, prompt and window",
  async () => {
    const box = await boxWith()
    await box.createKey(scope)
    await box.seal(scope, "token", bytes("secret"))
    const calls = readFileSync(join(folder, "calls"), "utf8").trim().split("\n")
    expect(calls.length).toBeGreaterThan(1)
    const scripts = new Set<string>()
    for (const call of calls) {
      const { args, script, input } = JSON.parse(call)
      expect(args).toEqual(["-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand"])
      expect(input).toMatch(/^(un)?protect\n[A-Za-z0-9+/]{43}=\n[A-Za-z0-9+/=]+\n$/)
      scripts.add(script)
    }
    // The same each time: it contains nothing of a call.
    expect(scripts.size).toBe(1)
  },
)

test.runIf(isLong)("a process unwraps a key once, and again after it changed", async () => {
  const box = await boxWith()
  await box.createKey(scope)
  const calls = () =>
    readFileSync(join(folder, "calls"), "utf8")
      .trim()
      .split("\n")
      .map((call) => JSON.parse(call).input.split("\n")[0])
  // Also checks that the wrapped bytes were stored.
  expect(calls()).toEqual(["protect", "unprotect"])
  for (let i = 0; i < 5; i++) {
    await box.createKey(scope)
    expect(await box.open(scope, "token", await box.seal(scope, "token", bytes("secret")))).toEqual(bytes("secret"))
  }
  expect(calls()).toEqual(["protect", "unprotect", "unprotect"])
  const other = await boxWith()
  await other.rotate(scope)
  const before = calls().length
  expect(await box.open(scope, "token", await other.seal(scope, "token", bytes("newer")))).toEqual(bytes("newer"))
  expect(await box.open(scope, "token", await box.seal(scope, "token", bytes("secret")))).toEqual(bytes("secret"))
  // One of each box.
  expect(calls().slice(before)).toEqual(["unprotect", "unprotect"])
})

test.runIf(isLong)("an unwrapped key is dropped when its file changes or disappears", async () => {
  const box = await boxWith()
  await box.createKey(scope)
  const sealed = await box.seal(scope, "token", bytes("secret"))
  const [name = ""] = readdirSync(join(folder, "keys"))
  const path = join(folder, "keys", name)
  const bent = readFileSync(path)
  bent[bent.length - 1] = (bent.at(-1) ?? 0) ^ 1
  writeFileSync(path, bent)
  await expect(box.open(scope, "token", sealed)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
  rmSync(path)
  await expect(box.open(scope, "token", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
  await expect(box.seal(scope, "token", bytes("x"))).rejects.toMatchObject({ reason: "KEY_MISSING" })
})

test.runIf(isLong)("the stored bytes contain no plain key", async () => {
  const box = await boxWith()
  await box.createKey(scope)
  const [call = "{}"] = readFileSync(join(folder, "calls"), "utf8").split("\n")
  const key = Buffer.from(JSON.parse(call).input.split("\n")[2], "base64")
  expect(key.length).toBeGreaterThan(34)
  expect(kept().map((file) => file.includes(key.subarray(2, 34)))).toEqual([false])
})

test.each(
  sample<[string, string]>(2, [
    ["constrained", "locked down"],
    ["blocked", "unexpected output"],
    ["garbage", "unexpected output"],
    ["half", "unexpected output"],
    ["empty", "incomplete bytes"],
    ["cut", "incomplete bytes"],
    ["endless", "size limit"],
    ["slow", "in time"],
    ["no profile", "-2147024894"],
  ]),
)("a PowerShell that is %s fails with a reason, and no key is created or deleted", async (mood, message) => {
  await (await boxWith()).createKey(scope)
  const before = kept()
  const box = await boxWith({ timeoutMs: mood === "slow" ? 300 : 30_000 })
  become(mood)
  const reason = {
    name: "SecretBoxError",
    reason: "SECURE_STORE_UNAVAILABLE",
    message: expect.stringContaining(message),
  }
  for (const use of [() => box.createKey(scope), () => box.createKey({ ...scope, user: "eve" })]) {
    await expect(use()).rejects.toMatchObject(reason)
  }
  expect(kept()).toEqual(before)
})

test("without PowerShell nothing is stored", async () => {
  const box = await boxWith({ program: join(folder, "none.exe") })
  await expect(box.createKey(scope)).rejects.toMatchObject({ reason: "SECURE_STORE_UNAVAILABLE" })
  expect(existsSync(join(folder, "keys"))).toBe(false)
})

test.runIf(isLong)("another Windows user does not open it", async () => {
  await (await boxWith()).createKey(scope)
  const before = kept()
  signIn("eve")
  const box = await boxWith()
  for (const use of [() => box.createKey(scope), () => box.seal(scope, "token", bytes("x")), () => box.rotate(scope)]) {
    await expect(use()).rejects.toMatchObject({ name: "SecretBoxError", reason: "WRONG_USER" })
  }
  expect(kept()).toEqual(before)
})

test.runIf(isLong)("a changed file, or one of another scope, is detected and not changed", async () => {
  const box = await boxWith()
  await box.createKey(scope)
  const [name = ""] = readdirSync(join(folder, "keys"))
  await box.createKey({ ...scope, user: "eve" })
  const other = readdirSync(join(folder, "keys")).find((one) => one !== name) ?? ""
  const path = join(folder, "keys", name)
  const whole = readFileSync(path)
  const changed = Buffer.from(whole)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  for (const bent of [changed, readFileSync(join(folder, "keys", other)), whole.subarray(0, 60)]) {
    writeFileSync(path, bent)
    await expect(box.createKey(scope)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
    expect(readFileSync(path)).toEqual(bent)
  }
  writeFileSync(path, whole)
  await box.createKey(scope)
})
