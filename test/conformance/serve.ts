// Starts a server for the suite: the real program in the development profile, on its own database.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { startProgram } from "../support/program.ts"

export interface Served {
  readonly url: string
  /** The address for HTTP/2 and gRPC, if it differs. */
  readonly http2Url?: string
  /** The auth service's address, if it differs, and the audience of its tokens. */
  readonly authUrl?: string
  readonly audience?: string
  close(): Promise<void>
}

/** @param databaseUrl An empty PostgreSQL database; without it, PGlite. */
export async function serve(databaseUrl?: string): Promise<Served> {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-conformance-"))
  const program = await startProgram({
    SIGNET_PROFILE: "development",
    SIGNET_LIMITS: "off",
    SIGNET_DATA: folder,
    PORT: String(await freePort()),
    ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
  })
  return {
    url: program.url,
    async close() {
      await program.end("SIGTERM")
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
