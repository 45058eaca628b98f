// Messaging services whose data is backed up and restored.
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { run } from "../../../server/store/postgres/sql.ts"
import { type Deployment, type EdgeServer, startEdgeServer } from "../edge-server.ts"
import { fastTmpdir } from "../fast-tmpdir.ts"
import { storyStore, type TestStore } from "../postgres.ts"
import type { Serving } from "./messengers.ts"
import { type MessagingServer, startMessagingServer } from "./test-server.ts"

export interface BackedUp {
  readonly server: Serving
  /** Stores a copy of the service's data. */
  backUp(): Promise<void>
  /** Replaces the service's data by the copy. */
  restore(): Promise<void>
  close(): Promise<void>
}

const inDatabase = async (): Promise<BackedUp> => inDatabaseOf(await startMessagingServer({ store: storyStore }))

export function inDatabaseOf(server: MessagingServer): BackedUp {
  const { db } = server.store
  return {
    server,
    backUp: () => backUpTables(db),
    restore: () => restoreTables(db),
    close: () => server.close(),
  }
}

/** The Worker, whose objects are restored together. */
const onWorker = async (): Promise<BackedUp> => onWorkerOf(await startEdgeServer({ store: storyStore }))

function onWorkerOf(server: Pick<EdgeServer, "atRest" | "close"> & Serving): BackedUp {
  const copy = mkdtempSync(join(fastTmpdir(), "signet-backup-"))
  return {
    server,
    backUp: () => server.atRest((folder) => cpSync(folder, copy, { recursive: true })),
    restore: () =>
      server.atRest((folder) => {
        rmSync(folder, { recursive: true, force: true })
        cpSync(copy, folder, { recursive: true })
      }),
    async close() {
      await server.close()
      rmSync(copy, { recursive: true, force: true })
    },
  }
}

/** The deployment's service, whichever it is. */
export function backedUpOf(server: Deployment): BackedUp {
  if (server.inProcess !== undefined) return inDatabaseOf(server.inProcess)
  const { atRest } = server
  if (atRest === undefined) throw new Error("the service's data cannot be restored")
  return onWorkerOf({ ...server, atRest })
}

export const backedUp: Readonly<Record<string, () => Promise<BackedUp>>> = {
  "a database": inDatabase,
  "Durable Objects": onWorker,
}

type Database = TestStore["db"]

/** The tables of conversations and key packages. The identities are not restored: a story about them is another one. */
const isRestored = (table: string): boolean =>
  /^(conversation|device_cursor|group_info|tree|welcome|key_package|claim)/.test(table)

async function tablesOf(db: Database): Promise<string[]> {
  const text = "select table_name as name from information_schema.tables where table_schema = 'public'"
  const names = (await run<{ name: string }>(db, text, [])).map(({ name }) => name)
  return names.filter(isRestored).toSorted()
}

async function backUpTables(db: Database): Promise<void> {
  await run(db, "drop schema if exists backup cascade", [])
  await run(db, "create schema backup", [])
  for (const name of await tablesOf(db)) await run(db, `create table backup.${name} as table public.${name}`, [])
}

/** Without the checks of references, because the tables are replaced one by one. */
async function restoreTables(db: Database): Promise<void> {
  const names = await tablesOf(db)
  await db.transaction().execute(async (trx) => {
    await run(trx, "set local session_replication_role = replica", [])
    for (const name of names) {
      await run(trx, `delete from public.${name}`, [])
      await run(trx, `insert into public.${name} overriding system value select * from backup.${name}`, [])
    }
  })
}
