// A server to run the suite on: the real program, in the development profile, on a database of its own.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort, startProgram } from "../support/program.ts"

export interface Served {
  readonly url: string
  /** Where it speaks HTTP/2 and gRPC, when that is not the same address. */
  readonly http2Url?: string
  /** Where its people sign in, when that is not the same address, and what their tokens are for. */
  readonly authUrl?: string
  readonly audience?: string
  close(): Promise<void>
}

/**
 * @param databaseUrl An empty PostgreSQL database; without it, PGlite.
 * @param prepare Puts what is to be there into the data folder.
 */
export async function serve(databaseUrl?: string, prepare?: (folder: string) => Promise<void>): Promise<Served> {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-conformance-"))
  await prepare?.(folder)
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
