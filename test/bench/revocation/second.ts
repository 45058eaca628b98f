// A second server: another process of the program.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startProgram } from "../../support/program.ts"

/** The program on the same database, with the same secrets, in a process of its own. */
export async function startSecond(
  databaseUrl: string,
  issuer: string,
): Promise<{ url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const key = (of: number) => Buffer.alloc(32, of).toString("base64")
  const program = await startProgram({
    ...{ DATABASE_URL: databaseUrl, SIGNET_ISSUER: issuer, SIGNET_DATA: folder, PORT: "0" },
    // Those of the test server.
    ...{ SIGNET_SEALING_KEY: key(2), SIGNET_PEPPERS: `1:${key(1)}` },
    ...{ SIGNET_PROFILE: "development", SIGNET_LIMITS: "off" },
  })
  return {
    url: program.url,
    async close() {
      await program.end("SIGTERM")
      rmSync(folder, { recursive: true })
    },
  }
}
