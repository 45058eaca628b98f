// signet against the program of npm start. The scripts of docs/reference/cli.md run as printed there, in bash, with the
// system's credential store if there is one.
import { spawn } from "node:child_process"
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { variables } from "../../clients/cli/environment.ts"
import { exitCodes } from "../../clients/cli/failure.ts"
import { type FakeOptions, fakeCli } from "../../clients/cli/testing/fake-cli.ts"
import { type Installed, install } from "../../clients/cli/testing/installed.ts"
import { atTerminal, pythonMissing } from "../../clients/cli/testing/pseudo-terminal.ts"
import { createFileLock, createFileStorage, createPassphraseBox } from "../../clients/node/index.ts"
import {
  hasSecretService,
  type SecretService,
  startSecretService,
} from "../../clients/node/secret-box/testing/secret-service.ts"
import { effort, isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { createTestDatabase, describeOnPostgres, programDatabase } from "../support/postgres.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const root = join(import.meta.dirname, "../..")
const docs = readFileSync(join(root, "docs/reference/cli.md"), "utf8")
const blocks = (info: string) =>
  [...docs.matchAll(/^```(.*)\n([\s\S]*?)\n```$/gm)].flatMap(([, said, text]) => (said === info ? [text ?? ""] : []))
const tour = blocks("sh")
const missing = ["/bin/bash", "/usr/bin/curl"].find((path) => !existsSync(path))
const key = Buffer.alloc(32, 7).toString("base64")
const secrets = [/sgrt_\w/, /sgsec_\w/, /sgpat_\w/, /eyJ[\w-]+\.eyJ/, /from-the-provider/, /correct horse/]

/** A file of credentials with the minimal cost of key derivation: other tests cover its strength. */
async function quickPassphrase(folder: string): Promise<void> {
  const storage = createFileStorage(join(folder, "passphrase-box"))
  const lock = createFileLock(join(folder, "box-lock"))
  const parameters = { memoryKiB: 19_456, passes: 2 }
  await createPassphraseBox({ storage, lock, parameters, passphrase: async () => "correct horse" }).createKey({
    app: "quick",
  })
}

const home = mkdtempSync(join(fastTmpdir(), "signet-cli-"))
let program: RunningProgram
let database: Awaited<ReturnType<typeof programDatabase>>
beforeAll(async () => {
  database = await programDatabase()
  program = await startProgram({
    ...database.settings,
    PORT: String(await freePort()),
    SIGNET_DATA: join(home, "data"),
  })
})
afterAll(async () => {
  await program?.end("SIGTERM")
  await database?.drop()
  rmSync(home, { recursive: true, force: true })
})

describe.skipIf(missing !== undefined)(`docs/reference/cli.md${missing ? ` (skipped: no ${missing})` : ""}`, () => {
  let keyring: SecretService | undefined
  let signet: Installed
  beforeAll(async () => {
    if (hasSecretService) keyring = await startSecretService(join(home, "keyring"), "correct horse")
    const store = keyring?.environment ?? { SIGNET_STORE: "passphrase", SIGNET_PASSPHRASE: "correct horse" }
    signet = install(join(home, "docs"), store)
  })
  afterAll(() => keyring?.stop())

  test.runIf(isLong)(
    "its scripts run, and no secret is printed",
    () => {
      const { code, stdout, stderr } = signet.type(tour.join("\n"), { cwd: root, env: { U: program.url } })
      expect({ code, wrong: stderr.split("\n").filter((line) => /signet:|error/i.test(line)) }).toEqual({
        code: 0,
        wrong: [],
      })
      expect(stdout).toContain(`Signed in to ${program.url} as ada@example.com.`)
      expect(stdout).toContain("scope(notes.read): allowed")
      expect(stdout).toContain("app.created\tsuccess")
      expect(stdout).toMatch(/https:\/\/garden\.example\/cb, http:\/\/127\.0\.0\.1:8976\/callback/)
      for (const secret of secrets) {
        expect(stdout + stderr).not.toMatch(secret)
        expect(program.output()).not.toMatch(secret)
      }
    },
    300_000,
  )

  test.runIf(isLong)("only the owner can access the stored files, and they are encrypted", () => {
    const folder = join(home, "docs/signet")
    const kept = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile())
    expect(kept.length).toBeGreaterThan(0)
    for (const path of kept) {
      expect([path, statSync(path).mode & 0o077]).toEqual([path, 0])
      for (const secret of secrets) expect(readFileSync(path, "latin1")).not.toMatch(secret)
    }
  })

  test.skipIf(!isLong || !hasSecretService)(
    "with a locked credential store the command is not signed in, and the stored sign-in remains",
    async () => {
      const folder = join(home, "docs/signet")
      const kept = () => readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /kept$/.test(name))
      const before = kept()
      await keyring?.stop()
      keyring = await startSecretService(join(home, "keyring"), undefined)
      const locked = install(join(home, "docs"), keyring.environment)
      const { code, stdout, stderr } = await locked.run([
        "login",
        "--as",
        "ada@example.com",
        "--server",
        program.url,
        "--json",
      ])
      expect([code, stdout, JSON.parse(stderr).reason]).toEqual([10, "", "LOCKED"])
      expect(kept()).toEqual(before)
    },
  )

  test.runIf(isLong)("a closed output pipe is no error", () => {
    const { code, stderr } = install(join(home, "deaf"), {}).type("set +o pipefail; signet help | true", { cwd: home })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  })

  test("names each exit code and each variable", () => {
    for (const code of Object.values(exitCodes)) expect(docs).toContain(`\n| ${code} | `)
    for (const name of variables) expect(docs).toContain(`\n| \`${name}\` | `)
  })

  test.skipIf(process.platform !== "linux")(
    "without a credential store sign-in fails, and nothing is stored",
    async () => {
      const env = { SIGNET_STORE: undefined, DBUS_SESSION_BUS_ADDRESS: "unix:path=/none" }
      const bare = install(join(home, "bare"), env)
      const { code, stdout, stderr } = await bare.run([
        "login",
        "--as",
        "ada@example.com",
        "--server",
        program.url,
        "--json",
      ])
      expect([code, stdout]).toEqual([10, ""])
      expect(JSON.parse(stderr)).toMatchObject({ reason: "SECURE_STORE_UNAVAILABLE" })
      const files = readdirSync(join(home, "bare/signet"), { recursive: true, encoding: "utf8" })
      expect(files.filter((name) => /kept|profiles\.json|passphrase/.test(name))).toEqual([])
    },
  )
})

describe.skipIf(!isLong || missing !== undefined)(
  `a machine without a credential store${isLong ? "" : " (skipped: npm run test:long)"}`,
  () => {
    test("signs in with a passphrase, and later commands neither ask for it nor derive its key", async () => {
      const signet = install(join(home, "headless"), { DBUS_SESSION_BUS_ADDRESS: "unix:path=/none", U: program.url })
      writeFileSync(join(home, "passphrase.txt"), "correct horse\n", { mode: 0o600 })
      const [script = ""] = blocks("sh passphrase")
      const typed = signet.type(script, { cwd: home, env: { SIGNET_PASSPHRASE: "correct horse" } })
      expect([typed.code, typed.stderr]).toEqual([0, ""])
      // The last line has unlocked it: there is no prompt, and no passphrase in the environment.
      const timed = (env: NodeJS.ProcessEnv) => {
        const { code, stderr } = signet.type("TIMEFORMAT='%3U + %3S'; time signet whoami > /dev/null", {
          cwd: home,
          env,
        })
        expect(code).toBe(0)
        return stderr.trim()
      }
      const unlocked = timed({})
      await signet.run(["lock"])
      expect(await signet.run(["whoami"])).toMatchObject({ code: 3, stderr: expect.stringContaining("signet unlock") })
      const stretched = timed({ SIGNET_PASSPHRASE: "correct horse", SIGNET_UNLOCK_MINUTES: "0" })
      console.log(`whoami, user + system seconds: ${unlocked} unlocked, ${stretched} with the passphrase`)
    }, 120_000)
  },
)

describeOnPostgres("docs/reference/cli.md for operators", () => {
  test.runIf(isLong)(
    "its commands run the server's programs with their settings",
    async () => {
      const database = await createTestDatabase()
      const settings = {
        SIGNET_PROFILE: "production",
        DATABASE_URL: database.url,
        SIGNET_ISSUER: "https://auth.example",
        SIGNET_SEALING_KEY: key,
        SIGNET_PEPPERS: `1:${key}`,
      }
      const signet = install(join(home, "operator"), settings)
      const [script = ""] = blocks("sh offline")
      const lines = script.split("\n").slice(0, effort(1, 9, 9))
      const { code, stdout, stderr } = signet.type(lines.join("\n"), { cwd: root })
      await database.drop()
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(stdout).toMatch(/^Applied /)
      if (lines.length === 1) return
      expect(stdout).toMatch(/ACCESS is CURRENT/)
      expect(stdout).toContain("Created a new PROOF key.")
      expect(stdout).toMatch(/The audit log is complete and unchanged/)
    },
    120_000,
  )
})

test.skipIf(!isLong)(
  "signet serve runs the server: it forwards signals and exits with its code, which is 2 for wrong settings",
  async () => {
    const { environment, run } = install(join(home, "server"), { ADMIN_PORT: "0" })
    const serve = ["serve", "--port", "0", "--data", join(home, "served")]
    const child = spawn(join(home, "server/bin/signet"), serve, { env: environment })
    let said = ""
    child.stdout.on("data", (text) => {
      said += String(text)
    })
    await vi.waitFor(() => expect(said).toContain('"msg":"ready"'), { timeout: 60_000 })
    child.kill("SIGTERM")
    const [code] = await once(child, "exit")
    expect(code).toBe(0)
    expect(said).toContain('"msg":"stopping"')
    expect(await run(["serve", "--port", "high"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("PORT must be"),
    })
  },
  120_000,
)

describeOnPostgres("an administrator who is made where the server runs", () => {
  test.skipIf(!isLong)(
    "signs in without showing the token",
    async () => {
      const database = await createTestDatabase()
      const settings = {
        SIGNET_PROFILE: "development",
        DATABASE_URL: database.url,
        SIGNET_DATA: join(home, "administrator-data"),
        PORT: String(await freePort()),
      }
      const server = await startProgram(settings)
      const store = { SIGNET_STORE: "passphrase", SIGNET_PASSPHRASE: "correct horse" }
      const create = ["admin", "create", "--another", "--login"]
      const alone = install(join(home, "administrator-alone"), { ...settings, ...store })
      await alone.run(["profile", "add", "nowhere", "--server", `http://127.0.0.1:${await freePort()}`])
      expect(await alone.run(create)).toMatchObject({ code: 10, stdout: "" })
      const signet = install(join(home, "administrator"), { ...settings, ...store })
      await signet.run(["profile", "add", "here", "--server", server.url])
      const { code, stdout, stderr } = await signet.run(create)
      expect([code, stderr]).toEqual([0, ""])
      for (const secret of secrets) expect(stdout).not.toMatch(secret)
      expect(await signet.run(["app", "list"])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("Installation"),
      })
      await server.end("SIGTERM")
      await database.drop()
    },
    120_000,
  )
})

describe("in this process", () => {
  const env = { SIGNET_HOME: join(home, "fake"), SIGNET_STORE: "passphrase", SIGNET_PASSPHRASE: "correct horse" }
  const signet = (options: FakeOptions = {}) => fakeCli({ ...options, env: { ...env, ...options.env } })
  const json = async (...args: string[]) => {
    const { code, out, err } = await signet().run(...args, "--json")
    expect([args, code, err]).toEqual([args, 0, ""])
    return JSON.parse(out)
  }
  let administrator: FakeOptions
  beforeAll(async () => {
    for (const user of ["fake", "password", "pat", "other", "replaced"]) await quickPassphrase(join(home, user))
    await json("login", "--server", program.url, "--as", "ada@example.com")
    const { pat } = await (await fetch(`${program.url}/dev/admin`, { method: "POST" })).json()
    administrator = { env: { SIGNET_SERVER: program.url, SIGNET_PAT: pat } }
  })

  test.runIf(isLong)("JSON output follows the contract", async () => {
    const me = await json("whoami")
    expect(me).toMatchObject({ identity: { primaryEmail: "ada@example.com" }, signIn: "session", server: program.url })
    const here = expect.objectContaining({ id: me.session.id, current: true })
    expect(await json("session", "list")).toEqual(expect.arrayContaining([here]))
    expect(await json("token", "get", "--audience", "svc-notes")).toMatchObject({ audience: "svc-notes" })
  })

  test.runIf(isLong)("a password and a personal access token sign in too, from standard input", async () => {
    const byPassword = signet({ env: { SIGNET_HOME: join(home, "password") }, input: "development\n" })
    expect(await byPassword.run("login", "--server", program.url, "--as", "ada@example.com")).toMatchObject({ code: 0 })
    await byPassword.run("logout")
    const said = await byPassword.run("login", "--email", "ada@example.com")
    expect(said).toMatchObject({ code: 0, out: `Signed in to ${program.url} as ada@example.com.\n` })
    const wrong = signet({ env: { SIGNET_HOME: join(home, "password") }, input: "guess" })
    expect(await wrong.run("login", "--email", "ada@example.com")).toMatchObject({ code: 3 })
    // The earlier sign-in is still there.
    expect(await byPassword.run("whoami")).toMatchObject({ code: 0 })
    const { SIGNET_PAT = "" } = administrator.env ?? {}
    const byPat = signet({ env: { SIGNET_HOME: join(home, "pat") }, input: `${SIGNET_PAT}\n` })
    expect(await byPat.run("login", "--pat", "--server", program.url)).toMatchObject({ code: 0 })
    expect(await byPat.run("app", "list")).toMatchObject({ code: 0, out: expect.stringContaining("Installation") })
    expect(await byPat.run("session", "list")).toMatchObject({ code: 4, err: expect.stringContaining("signet login") })
  })

  test.runIf(isLong)("a sign-in of another kind ends the earlier one, locally and at the server", async () => {
    const { SIGNET_PAT = "" } = administrator.env ?? {}
    const home = env.SIGNET_HOME.replace(/fake$/, "replaced")
    const here = signet({ env: { SIGNET_HOME: home }, input: SIGNET_PAT })
    const kept = () => readdirSync(join(home, "profiles/default/kept")).length
    const { out } = await here.run("login", "--server", program.url, "--as", "ada@example.com", "--json")
    const { sessionId } = JSON.parse(out)
    const sessions = async () => JSON.stringify(await json("session", "list"))
    expect([kept(), await sessions()]).toEqual([1, expect.stringContaining(sessionId)])
    expect(await here.run("login", "--pat")).toMatchObject({ code: 0, err: "" })
    expect([kept(), await sessions()]).toEqual([1, expect.not.stringContaining(sessionId)])
    if (!isLong) return
    expect(await here.run("login", "--as", "ada@example.com")).toMatchObject({ code: 0, err: "" })
    expect(kept()).toBe(1)
    expect(await here.run("logout")).toMatchObject({ code: 0, err: "" })
    expect(kept()).toBe(0)
  })

  test.each<[number, string, readonly string[]]>([
    [3, "TOKEN_EXPIRED", ["whoami"]],
    [4, "MISSING_SCOPE", ["app", "create", "Mine"]],
    [4, "SCOPE_NOT_GRANTED", ["pat", "create", "--name", "x", "--audience", "svc-notes", "--scope", "notes.erase"]],
    [2, "INVALID_FIELD", ["pat", "revoke", "ses_1"]],
    [5, "NOT_FOUND", ["pat", "revoke", "pat_06enrrq000edm6xx1hjq8s9c9g"]],
    [5, "SESSION_NOT_FOUND", ["session", "revoke", "ses_06enrrq000edm6xx1hjq8s9c9g"]],
    [4, "RESOURCE_UNRESOLVED", ["service-account", "get", "sac_06enrrq000edm6xx1hjq8s9c9g"]],
  ])("%i is %s: %j", async (code, reason, args) => {
    // An hour later on this machine's clock, the token has expired before it is sent.
    const nowMs = reason === "TOKEN_EXPIRED" ? () => Date.now() + 3_600_000 : undefined
    const said = await signet(nowMs && { nowMs }).run(...args, "--json")
    expect([said.code, said.out]).toEqual([code, ""])
    expect(JSON.parse(said.err)).toMatchObject({ reason, detail: expect.any(String) })
  })

  test.runIf(isLong)("a call that the token does not allow is refused before anything is sent", async () => {
    const sent = (method: string) => program.output().split(`/${method}"`).length - 1
    const before = { asked: sent("ListAuditEvents"), known: sent("Me") }
    const { code, err } = await signet().run("audit", "list")
    expect([code, err]).toEqual([4, expect.stringContaining("requires the scope auth.audit.read")])
    await signet().run("whoami")
    await vi.waitFor(() => expect(sent("Me")).toBeGreaterThan(before.known), { timeout: 30_000 })
    expect(sent("ListAuditEvents")).toBe(before.asked)
  })

  test.runIf(isLong)("6 is a conflict", async () => {
    const own = ["service-account", "create", "notes", "--owns", "svc-notes"]
    // The tour may have created it already.
    await signet().run(...own)
    const again = await signet().run(...own)
    expect(again).toMatchObject({ code: 6, err: expect.stringContaining("AUDIENCE_TAKEN") })
  })

  test.runIf(isLong)("a private key is never sent, and its public key authenticates the service", async () => {
    const { id } = await json("service-account", "create", "robot", "--auth", "private-key-jwt")
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const fileOf = (name: string, key: KeyObject) => {
      writeFileSync(join(home, name), JSON.stringify(key.export({ format: "jwk" })))
      return join(home, name)
    }
    const refused = await signet().run("service-account", "key", "add", id, "--jwk", fileOf("private.jwk", privateKey))
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("has a private key") })
    const { kid } = await json("service-account", "key", "add", id, "--jwk", fileOf("public.jwk", publicKey))
    expect(await json("service-account", "key", "revoke", id, kid)).toEqual({ kid, status: "REVOKED" })
  })

  test.runIf(isLong)(
    "10 is a server that does not answer; 3 is a wrong passphrase, which deletes nothing",
    async () => {
      const gone = await signet({ env: { SIGNET_SERVER: "http://127.0.0.1:1", SIGNET_PAT: "sgpat_" } }).run("whoami")
      expect(gone).toMatchObject({ code: 10 })
      expect(await signet({ env: { SIGNET_PASSPHRASE: "wrong" } }).run("whoami")).toMatchObject({
        code: 3,
        err: expect.stringContaining("WRONG_PASSPHRASE"),
      })
      expect(await signet().run("whoami")).toMatchObject({ code: 0 })
    },
  )

  test("a token is checked without sending it", async () => {
    const { accessToken } = await json("token", "get", "--audience", "svc-notes")
    const inspect = (input: string, ...args: string[]) =>
      signet({ input }).run("token", "inspect", "-", "--json", ...args)
    const verdict = async (input: string, ...args: string[]) => {
      const { code, out } = await inspect(input, ...args)
      const { kind, reason, requirement } = JSON.parse(out)
      return [code, kind, reason, requirement?.allowed]
    }
    expect(await verdict(accessToken, "--scope", "notes.read")).toEqual([0, "an access token", null, true])
    expect(await verdict(accessToken, "--scope", "notes.read,notes.erase")).toEqual([4, "an access token", null, false])
    expect((await verdict(accessToken, "--audience", "svc-other")).slice(0, 3)).toEqual([
      3,
      "an access token",
      "AUDIENCE_MISMATCH",
    ])
    const [header = "", claims = "", signature = ""] = accessToken.split(".")
    const forged = `${header}.${claims}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`
    expect(await verdict(forged, "--scope", "notes.read")).toEqual([
      3,
      "an access token",
      "SIGNATURE_INVALID",
      undefined,
    ])
    const { SIGNET_PAT = "" } = administrator.env ?? {}
    expect((await verdict(SIGNET_PAT)).slice(0, 3)).toEqual([3, "a personal access token", "PAT_NOT_BEARER"])
    expect((await verdict(`${SIGNET_PAT.slice(0, -1)}!`))[1]).toBe("a personal access token with a wrong checksum")
    expect((await verdict("hello")).slice(0, 3)).toEqual([3, "no token", "MALFORMED_CREDENTIAL"])
    expect(await inspect("")).toMatchObject({ code: 2 })
    expect(await inspect(accessToken, "--method", "PatService.Nothing")).toMatchObject({ code: 2 })
  })

  test("a token is sent only to the server of its profile", async () => {
    const { code, err } = await signet().run("login", "--server", "https://evil.example", "--as", "ada@example.com")
    expect([code, err]).toEqual([2, expect.stringContaining("Create another profile")])
    const { port } = new URL(program.url)
    const other = signet({ env: { SIGNET_HOME: join(home, "other") } })
    expect(await other.run("login", "--server", `http://localhost:${port}`, "--as", "ada@example.com")).toMatchObject({
      code: 2,
      err: expect.stringContaining("ISSUER_MISMATCH"),
    })
  })
})

const atTerminalTitle = `at a terminal${pythonMissing ? ` (skipped: ${pythonMissing})` : ""}`
describe.skipIf(pythonMissing !== undefined)(atTerminalTitle, () => {
  const store = { SIGNET_STORE: "passphrase", SIGNET_PASSPHRASE: undefined, NO_COLOR: undefined, TERM: "xterm" }

  test.runIf(isLong)(
    "secrets are typed without echo, and tables have titles and colors",
    async () => {
      const { environment } = install(join(home, "terminal"), store)
      await quickPassphrase(join(home, "terminal/signet"))
      const command = (...args: string[]) => [join(home, "terminal/bin/signet"), ...args]
      const { pat } = await (await fetch(`${program.url}/dev/admin`, { method: "POST" })).json()
      const login = await atTerminal(command("login", "--pat", "--server", program.url), environment, [
        ["Personal access token", pat],
        ["Passphrase", "correct horse"],
      ])
      expect(login).toMatchObject({ code: 0, screen: expect.stringContaining("with a personal access token.") })
      const list = await atTerminal(command("app", "list"), environment, [["Passphrase", "correct horse"]])
      expect(list.code).toBe(0)
      expect(list.screen).toContain("\u001b[2mID")
      expect(stripVTControlCharacters(list.screen)).toMatch(/ID +NAME +STATUS/)
      for (const secret of secrets) expect(login.screen + list.screen).not.toMatch(secret)
      if (!isLong) return
      const other = { ...environment, SIGNET_HOME: join(home, "terminal/new") }
      const slip = await atTerminal(command("login", "--pat", "--server", program.url), other, [
        ["Personal access token", pat],
        ["New passphrase", "correct horse"],
        ["Repeat the passphrase", "correct house"],
      ])
      expect(slip).toMatchObject({ code: 3, screen: expect.stringContaining("the two passphrases differ") })
      const plain = await atTerminal(command("app", "list"), { ...environment, NO_COLOR: "1" }, [
        ["Passphrase", "correct horse"],
      ])
      expect(plain.screen).toMatch(/ID +NAME +STATUS/)
      expect(plain.screen).not.toContain("\u001b[2mID")
    },
    120_000,
  )
})
