import fs from "node:fs"
import { PGlite, type PGliteOptions } from "@electric-sql/pglite"
import { createPgConfig } from "@electric-sql/pglite/node-postgres"
import { kyselyOn, type OpenDatabase, type OpenOptions } from "../open.ts"
import { DurableNodeFs, durableStartParams } from "./durable-fs.ts"
import { lockFolder } from "./folder-lock.ts"
import { startHousekeeping } from "./housekeeping.ts"

/**
 * Opens PostgreSQL inside this process, stored in a folder: 0.5 s, and some seconds the first time. A committed
 * transaction is on the disk.
 *
 * @throws Error when another process has the folder.
 */
export async function openPglite(folder: string, options: Pick<OpenOptions, "onError"> = {}): Promise<OpenDatabase> {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const release = lockFolder(folder)
  try {
    const opened = await onPglite({ fs: new DurableNodeFs(folder), startParams: durableStartParams })
    const stopHousekeeping = startHousekeeping(opened.db, options.onError ?? (() => {}))
    return {
      db: opened.db,
      connections: opened.connections,
      async close() {
        await stopHousekeeping()
        await opened.close()
        release()
      },
    }
  } catch (error) {
    release()
    throw error
  }
}

/** The same in memory, for tests. @param dump A data folder from `dumpDataDir`, which starts faster. */
export function openMemoryPglite(dump?: Blob): Promise<OpenDatabase> {
  return onPglite(dump === undefined ? {} : { loadDataDir: dump })
}

/** PGlite has one session, so the pool has one connection: transactions wait for one another. */
async function onPglite(options: PGliteOptions): Promise<OpenDatabase> {
  const pglite = await PGlite.create(options)
  const { db, connections } = kyselyOn({ ...createPgConfig(pglite), max: 1 })
  return {
    db,
    connections,
    async close() {
      await db.destroy()
      await pglite.close()
    },
  }
}
