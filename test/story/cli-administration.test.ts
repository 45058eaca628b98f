// What administrators do day by day with signet, against the program as npm start runs it.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type FakeOptions, fakeCli } from "../../clients/cli/testing/fake-cli.ts"
import { createFileLock, createFileShelf, createPassphraseBox } from "../../clients/node/index.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { programDatabase } from "../support/postgres.ts"
import { freePort, type RunningProgram, startProgram } from "../support/program.ts"

const home = mkdtempSync(join(fastTmpdir(), "signet-cli-admin-"))
let program: RunningProgram
let database: Awaited<ReturnType<typeof programDatabase>>
let administrator: NonNullable<FakeOptions["env"]>

beforeAll(async () => {
  database = await programDatabase()
  program = await startProgram({
    ...database.settings,
    PORT: String(await freePort()),
    SIGNET_DATA: join(home, "data"),
  })
  const { pat } = await (await fetch(`${program.url}/dev/admin`, { method: "POST" })).json()
  administrator = { SIGNET_HOME: join(home, "admin"), SIGNET_SERVER: program.url, SIGNET_PAT: pat }
  const shelf = createFileShelf(join(home, "ada/passphrase-box"))
  const lock = createFileLock(join(home, "ada/box-lock"))
  const parameters = { memoryKiB: 19_456, passes: 2 }
  await createPassphraseBox({ shelf, lock, parameters, passphrase: async () => "correct horse" }).createKey({
    app: "q",
  })
  expect(await ada().run("login", "--server", program.url, "--as", "ada@example.com")).toMatchObject({ code: 0 })
}, 60_000)
afterAll(async () => {
  await program?.end("SIGTERM")
  await database?.drop()
  rmSync(home, { recursive: true, force: true })
})

/** Somebody who signed in to the app of the development profile, and administers nothing. */
const ada = () =>
  fakeCli({
    env: { SIGNET_HOME: join(home, "ada"), SIGNET_STORE: "passphrase", SIGNET_PASSPHRASE: "correct horse" },
  })
const root = (options: FakeOptions = {}) => fakeCli({ ...options, env: { ...administrator, ...options.env } })
const json = async (...args: string[]) => {
  const { code, out, err } = await root().run(...args, "--json")
  expect([args, code, err]).toEqual([args, 0, ""])
  return JSON.parse(out)
}

describe("signet user", () => {
  test("finds people by address and by subject, and nobody by a part of them", async () => {
    const [found, ...others] = await json("user", "find", "ada@example.com")
    expect(others).toEqual([])
    expect(found).toMatchObject({ identity: { primaryEmail: "ada@example.com" }, principal: { status: "ACTIVE" } })
    const [{ provider, subject }] = found.providerAccounts
    const named = ["--provider", provider.toLowerCase().replace("_", "-"), "--subject", subject]
    expect(await json("user", "find", ...named)).toEqual([found])
    expect(await json("user", "find", "da@example.com")).toEqual([])
    const { out } = await root().run("user", "find", "ada@example.com")
    expect(out).toMatch(/^prn_\w{26}\tactive\tada@example\.com\tapp_/)
  })

  test("stops and resumes a person, and asks for --yes before", async () => {
    const [{ principal }] = await json("user", "find", "ada@example.com")
    expect(await root().run("user", "suspend", principal.id)).toMatchObject({
      code: 2,
      err: expect.stringContaining("this needs --yes"),
    })
    expect(await json("user", "suspend", principal.id, "--yes")).toMatchObject({ status: "SUSPENDED" })
    expect(await json("user", "get", principal.id)).toMatchObject({ principal: { status: "SUSPENDED" } })
    expect(await json("user", "resume", principal.id)).toMatchObject({ status: "ACTIVE" })
    expect(await ada().run("login", "--as", "ada@example.com")).toMatchObject({ code: 0 })
  })

  test.each<[number, string, readonly string[]]>([
    [2, "USAGE", ["find"]],
    [2, "USAGE", ["find", "a@b.example", "--provider", "idp-a", "--subject", "x"]],
    [2, "USAGE", ["find", "--provider", "idp-a"]],
    [2, "INVALID_FIELD", ["find", "not an address"]],
    [4, "RESOURCE_UNRESOLVED", ["get", "prn_06enrrq000edm6xx1hjq8s9c9g"]],
  ])("%i is %s: %j", async (code, reason, args) => {
    const said = await root().run("user", ...args, "--json")
    expect([said.code, JSON.parse(said.err).reason]).toEqual([code, reason])
  })

  test("is refused by its scope before anything is sent", async () => {
    const { code, err } = await ada().run("user", "find", "ada@example.com")
    expect([code, err]).toEqual([4, expect.stringContaining("It takes auth.identities.read")])
  })
})
