import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import type { AsyncEntry } from "@napi-rs/keyring"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { fastTmpdir } from "../../../test/support/fast-tmpdir.ts"
import { keyringKeeper } from "./keyring.ts"
import { openOsSecretBox } from "./os-store.ts"
import { hasSecretService, type SecretService, startSecretService } from "./testing/secret-service.ts"

const script = join(import.meta.dirname, "testing/box-process.ts")

async function inProcess(env: NodeJS.ProcessEnv, user: string, ...steps: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, user, ...steps], { env })
  return stdout
    .trim()
    .split("\n")
    .map((line) => String(JSON.parse(line)))
}

const home = mkdtempSync(join(fastTmpdir(), "signet-keyring-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())

describe.skipIf(!hasSecretService)("the Secret Service", () => {
  let service: SecretService
  let sealed = ""
  beforeAll(async () => {
    service = await startSecretService(home, "correct horse")
    const said = await inProcess(
      service.environment,
      "ada",
      "seal:token:early",
      "create",
      "create",
      "seal:token:sgrt_1",
    )
    expect(said.slice(0, 3)).toEqual(["KEY_MISSING", "made", "made"])
    sealed = said[3] ?? ""
  })
  afterAll(() => service.stop())
  const open = (user: string, ...steps: string[]) => inProcess(service.environment, user, ...steps)

  test.runIf(isLong)("opens bytes of another process for the same scope and purpose only", async () => {
    expect(sealed).not.toContain(Buffer.from("sgrt_1").toString("hex"))
    expect(await open("ada", `open:token:${sealed}`, `open:other:${sealed}`)).toEqual(["sgrt_1", "STATE_TAMPERED"])
    expect(await open("eve", "create", `open:token:${sealed}`)).toEqual(["made", "WRONG_USER"])
  })

  test.runIf(isLong)("opens earlier bytes after a rotation, and none after its keys were destroyed", async () => {
    const [, old = ""] = await open("bob", "create", "seal:token:before")
    const [, newer = ""] = await open("bob", "rotate", "seal:token:after")
    expect(await open("bob", `open:token:${old}`, `open:token:${newer}`)).toEqual(["before", "after"])
    const gone = await open("bob", "destroy", "create", `open:token:${old}`)
    expect(gone).toEqual(["destroyed", "made", "SECURE_STORE_CHANGED"])
  })

  test.runIf(isLong)("keeps keys over a restart, and fails closed while it is locked", async () => {
    await service.stop()
    service = await startSecretService(home, undefined)
    expect(await open("ada", `open:token:${sealed}`, "create", "seal:token:x", "rotate", "destroy")).toEqual(
      Array(5).fill("LOCKED"),
    )
    await service.stop()
    service = await startSecretService(home, "correct horse")
    expect(await open("ada", `open:token:${sealed}`)).toEqual(["sgrt_1"])
  })

  test("holds the key in its own file, encrypted", () => {
    const keyrings = filesIn(join(home, "data/keyrings")).map(({ name }) => name)
    expect(keyrings).toContain("login.keyring")
    const bytes = readFileSync(join(home, "data/keyrings/login.keyring"))
    expect(bytes.includes("signet canary")).toBe(false)
    expect(bytes.includes(Buffer.from("SGSB"))).toBe(false)
  })
})

describe.skipIf(process.platform !== "linux")("without a Secret Service", () => {
  test.runIf(isLong)("every use fails with a reason, and creates no file", async () => {
    const bare = mkdtempSync(join(fastTmpdir(), "signet-bare-"))
    const env = {
      PATH: process.env.PATH,
      HOME: bare,
      XDG_RUNTIME_DIR: bare,
      DBUS_SESSION_BUS_ADDRESS: "unix:path=/none",
    }
    const said = await inProcess(env, "ada", "create", "seal:token:secret", "open:token:00", "rotate", "destroy")
    expect(said).toEqual(Array(5).fill("SECURE_STORE_UNAVAILABLE"))
    expect(filesIn(bare)).toEqual([])
    rmSync(bare, { recursive: true })
  })
})

test("a platform without a store is refused", async () => {
  const lock = { run: <T>(work: () => Promise<T>) => work() }
  await expect(openOsSecretBox({ lock, platform: "aix" })).rejects.toMatchObject({ reason: "SECURE_STORE_UNAVAILABLE" })
})

test("the store is pinned, because the library's default falls back to a volatile store", async () => {
  const asked: unknown[] = []
  class Entry {
    constructor(...said: unknown[]) {
      asked.push(said)
    }
    deleteCredential = async () => true
  }
  await keyringKeeper(Entry as unknown as typeof AsyncEntry).remove({ app: "app_1", user: "ada" })
  expect(asked).toEqual([["signet app_1", '[null,"app_1","ada",null]', { linux: { store: "secret-service" } }]])
})
