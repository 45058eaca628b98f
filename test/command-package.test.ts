// The command as it is published: built, packed, installed in an empty project, and run.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createFileLock, createFileStorage, createPassphraseBox } from "../clients/node/index.ts"
import { buildCommand } from "../scripts/packages/programs.ts"
import { effort } from "./support/effort.ts"

const isBuilt = effort(false, true, true)

describe.skipIf(!isBuilt)(
  `the package of the command${isBuilt ? "" : " (skipped: npm run test:long builds it)"}`,
  () => {
    let project: string
    const store = { SIGNET_PASSPHRASE: "correct horse" }
    const npm = (...args: string[]) =>
      execFileSync("npm", args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
    const signet = (...args: string[]) => {
      const { PATH = "" } = process.env
      const node = process.execPath.replace(/\/[^/]*$/, "")
      const env = {
        PATH: `${join(project, "node_modules/.bin")}:${node}:${PATH}`,
        HOME: project,
        NO_COLOR: "1",
        ...store,
      }
      const { status, stdout, stderr } = spawnSync("signet", args, { cwd: project, env, encoding: "utf8" })
      return { status, stdout, stderr }
    }
    beforeAll(async () => {
      project = mkdtempSync(join(tmpdir(), "signet-command-"))
      writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", version: "1.0.0", private: true }))
      const [{ filename }] = JSON.parse(
        npm("pack", "--json", "--pack-destination", project, await buildCommand(join(project, "built"))),
      )
      npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", join(project, filename))
    }, 300_000)
    afterAll(() => {
      if (project !== undefined) rmSync(project, { recursive: true, force: true })
    })

    test("runs, with every command in it", () => {
      expect(signet("--version")).toEqual({ status: 0, stdout: "0.1.0\n", stderr: "" })
      for (const name of [
        "login",
        "whoami",
        "token",
        "app",
        "provider",
        "service-account",
        "audit",
        "keys",
        "completion",
      ]) {
        expect(signet(name, "--help")).toMatchObject({ status: 0, stdout: expect.stringContaining(`signet ${name}`) })
      }
      expect(signet("whoami", "--json")).toMatchObject({ status: 3, stderr: expect.stringContaining("NOT_SIGNED_IN") })
    })

    test("finds its unlock agent, which holds the key until a lock", async () => {
      const home = join(project, ".config/signet")
      const lock = createFileLock(join(home, "box-lock"))
      const storage = createFileStorage(join(home, "passphrase-box"))
      const parameters = { memoryKiB: 19_456, passes: 2 }
      await createPassphraseBox({ storage, lock, parameters, passphrase: async () => "correct horse" }).createKey({
        app: "a",
      })
      expect(signet("unlock")).toMatchObject({ status: 0, stderr: "" })
      expect(signet("lock")).toMatchObject({ status: 0, stdout: "Locked.\n" })
    })

    test("refuses to serve: the server is another package", () => {
      expect(signet("serve")).toMatchObject({ status: 2, stderr: expect.stringContaining("SERVER_NOT_HERE") })
    })
  },
)
