// The pages for newcomers, each run from its first block to its last in an empty folder, with the packed packages.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { buildPackages, packPackages } from "../../scripts/build-packages.ts"
import { type Registry, startRegistry } from "../../scripts/packages/registry.ts"
import { chromiumMissing, launchChromium } from "../support/chromium.ts"
import { effort } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { createTestDatabase, noPostgres } from "../support/postgres.ts"
import { publishGuards } from "./guards.ts"
import { tryChat, tryWebApp } from "./in-chromium.ts"
import { blocksOf, scriptOf } from "./page.ts"

const root = join(import.meta.dirname, "../..")
/** Of the page that protects a service. */
const languages = 4
const skipped = chromiumMissing === undefined ? "" : ` (skipped: ${chromiumMissing})`
const isRun = effort(false, true, true)

interface RunningPage {
  readonly folder: string
  /** What its commands have printed. */
  readonly output: string
  end(): Promise<void>
}

describe.skipIf(!isRun)(`the pages for newcomers${isRun ? "" : " (skipped: npm run test:long runs them)"}`, () => {
  let world: string
  let registry: Registry
  const running: RunningPage[] = []

  beforeAll(async () => {
    world = mkdtempSync(join(fastTmpdir(), "signet-pages-"))
    const built = join(world, "built")
    const tarballs = packPackages(await buildPackages(built), built)
    registry = await startRegistry(tarballs.values())
    // What the machine's own settings say of packages stays; our scope is asked of this process.
    const settings = join(homedir(), ".npmrc")
    const machine = existsSync(settings) ? readFileSync(settings, "utf8") : ""
    writeFileSync(join(world, "npmrc"), `${machine}\n@signet:registry=${registry.url}/\n`)
  }, 300_000)
  afterAll(async () => {
    for (const page of running) await page.end()
    registry?.close()
    if (world) rmSync(world, { recursive: true, force: true })
  })

  /** Runs a page up to its end. What it leaves running goes on until `end`. */
  async function open(path: string, settings: NodeJS.ProcessEnv = {}): Promise<RunningPage> {
    const folder = mkdtempSync(join(world, "page-"))
    const logs = join(folder, ".logs")
    mkdirSync(logs)
    // Another port than the page says: other tests find nothing at 8080.
    const port = String(await freePort())
    const script = scriptOf(blocksOf(join(root, path))).replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`)
    const child = spawn("bash", ["-c", script], {
      cwd: folder,
      env: {
        ...process.env,
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        NPM_CONFIG_USERCONFIG: join(world, "npmrc"),
        NPM_CONFIG_CACHE: join(world, "npm-cache"),
        NPM_CONFIG_LOGLEVEL: "error",
        HOME: folder,
        PORT: port,
        ADMIN_PORT: "0",
        PAGE_LOGS: logs,
        SIGNET_STORE: "passphrase",
        // No process that keeps the key outlives the page.
        SIGNET_UNLOCK_MINUTES: "0",
        SIGNET_PASSPHRASE: "a passphrase of the test",
        ...settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    })
    const ended = once(child, "exit")
    const page = {
      folder,
      output: "",
      async end() {
        // The page's own commands, and by its trap what it left running.
        if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
          process.kill(-child.pid, "SIGTERM")
        }
        await ended
      },
    }
    running.push(page)
    page.output = await untilReady(child)
    return page
  }

  test("docs/tutorials/protect-a-service.md ends with services that know their callers", async () => {
    const page = await open("docs/tutorials/protect-a-service.md", publishGuards(root, world))
    expect([...page.output.matchAll(/"caller": ?"prn_\w+"/g)], page.output).toHaveLength(languages)
    expect([...page.output.matchAll(/"reason": ?"NO_CREDENTIAL"/g)], page.output).toHaveLength(languages)
    await page.end()
  }, 600_000)

  test.skipIf(noPostgres !== undefined)(
    `docs/how-to/go-to-production.md ends with an app and its provider, before there is DNS${noPostgres ? ` (skipped: ${noPostgres})` : ""}`,
    async () => {
      const database = await createTestDatabase({ migrated: false })
      try {
        const page = await open("docs/how-to/go-to-production.md", { DATABASE_URL: database.url })
        expect(page.output).toMatch(/"displayName":"Google"/)
        expect(page.output).not.toMatch(/sgpat_/)
        await page.end()
      } finally {
        await database.drop()
      }
    },
    600_000,
  )

  test.skipIf(chromiumMissing !== undefined).each([
    ["docs/tutorials/web-app.md ends with a page that signs in, reloads and signs out", tryWebApp],
    ["docs/tutorials/chat-in-a-page.md ends with a chat that goes on when both devices are new", tryChat],
  ])(
    `%s${skipped}`,
    async (title, tryPage) => {
      const page = await open(title.split(" ")[0] ?? "")
      const browser = await launchChromium()
      try {
        await tryPage(browser, "http://localhost:5173/")
      } finally {
        await browser.close()
        await page.end()
      }
    },
    600_000,
  )
})

/** @returns What was printed. @throws with it, when the script ends before the page's last block has run. */
function untilReady(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ""
    const hear = (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes("page ready")) resolve(output)
    }
    child.stdout?.on("data", hear)
    child.stderr?.on("data", hear)
    child.once("close", (code) => reject(new Error(`exit code ${code}:\n${output}`)))
  })
}
