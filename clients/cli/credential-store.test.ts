// Secrets of the command under a passphrase, in a folder of their own.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { afterEach, beforeEach, expect, test } from "vitest"
import { isLong } from "../../test/support/effort.ts"
import { fastTmpdir } from "../../test/support/fast-tmpdir.ts"
import type { NamedProfile } from "./cli.ts"
import { folderOf, openBox, openCredentialStore, storeOf } from "./credential-store.ts"
import { fakeCli } from "./testing/fake-cli.ts"

const passphrase = "correct horse"
const work: NamedProfile = { name: "work", isPassing: false, server: "https://auth.example", store: "passphrase" }

let home: string
beforeEach(() => {
  home = mkdtempSync(join(fastTmpdir(), "signet-credentials-"))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const cliWith = (env: Record<string, string> = { SIGNET_PASSPHRASE: passphrase }) =>
  fakeCli({ env: { SIGNET_HOME: home, SIGNET_UNLOCK_MINUTES: "0", ...env } }).cli

/** A store with as little stretching as a file may have. */
async function makeStore(): Promise<void> {
  const [storage, lock] = [createFileStorage(join(home, "passphrase-box")), createFileLock(join(home, "box-lock"))]
  const parameters = { memoryKiB: 19_456, passes: 2 }
  await createPassphraseBox({ storage, lock, parameters, passphrase: async () => passphrase }).createKey({
    app: "quick",
  })
}

test.runIf(isLong)(
  "a secret is read under its name, profile and server, and by the passphrase, and nowhere else",
  async () => {
    await makeStore()
    const credentials = await openCredentialStore(cliWith(), work)
    expect(await credentials.read("pat")).toBeUndefined()
    await credentials.prepare()
    await credentials.write("pat", "sgpat_1")
    expect(await (await openCredentialStore(cliWith(), work)).read("pat")).toBe("sgpat_1")
    // The same bytes in the folder of another server's profile of that name, and under another name.
    const moved = await openCredentialStore(cliWith(), { ...work, server: "https://other.example" })
    await expect(moved.read("pat")).rejects.toMatchObject({ name: "SecretBoxError", reason: "WRONG_USER" })
    const storage = createFileStorage(join(folderOf(cliWith(), work), "kept"))
    const kept = (await storage.read("pat")) ?? expect.fail("nothing kept")
    await storage.write("other", kept.bytes, "any")
    await expect(credentials.read("other")).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
    const wrong = await openCredentialStore(cliWith({ SIGNET_PASSPHRASE: "wrong" }), work)
    await expect(wrong.read("pat")).rejects.toMatchObject({ reason: "WRONG_PASSPHRASE" })
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    expect(files.length).toBeGreaterThan(1)
    for (const { parentPath, name } of files) {
      expect(readFileSync(join(parentPath, name)).includes("sgpat_"), name).toBe(false)
    }
    await credentials.remove("pat")
    expect(await credentials.read("pat")).toBeUndefined()
  },
)

test("without a terminal and SIGNET_PASSPHRASE the store stays closed, and the message names the variable", async () => {
  await makeStore()
  const credentials = await openCredentialStore(cliWith({}), work)
  await expect(credentials.write("pat", "x")).rejects.toMatchObject({ reason: "PASSPHRASE_NEEDED" })
})

test("a sign-in that names no store has the one of SIGNET_STORE, and a profile its own", async () => {
  expect(storeOf(cliWith({}))).toBe("os")
  expect(storeOf(cliWith({ SIGNET_STORE: "os" }))).toBe("os")
  expect(storeOf(cliWith({ SIGNET_STORE: "passphrase" }))).toBe("passphrase")
  expect(() => storeOf(cliWith({ SIGNET_STORE: "file" }))).toThrow("SIGNET_STORE")
  const { store: _, ...unsaid } = work
  const box = await openBox(cliWith({ SIGNET_STORE: "passphrase" }), unsaid)
  expect(box.describe().backend).toBe("passphrase")
  expect((await openBox(cliWith({ SIGNET_STORE: "os" }), work)).describe().backend).toBe("passphrase")
})
