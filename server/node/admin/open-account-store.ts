import { randomBytes } from "node:crypto"
import { createAuditLogDeps } from "../../store/postgres/audit/audit-log-deps.ts"
import { migrate } from "../../store/postgres/migrate.ts"
import type { Database } from "../../store/postgres/sql.ts"
import { createStore } from "../../store/postgres/store.ts"
import type { Config } from "../config.ts"
import { openDatabase } from "../open-database.ts"
import { openSecrets } from "../open-secrets.ts"

const clock = { nowMs: () => Date.now() }
const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }

/** Runs `work` with a store and secrets on the migrated database, which it closes afterwards. */
export async function withAccountStore<Result>(
  config: Config,
  work: (deps: Awaited<ReturnType<typeof open>>) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(config, () => {})
  try {
    return await work(await open(config, database.db))
  } finally {
    await database.close()
  }
}

async function open({ authAudience, ...config }: Config, db: Database) {
  await migrate(db)
  const { secrets, seals } = await openSecrets(db, config)
  const store = createStore(db, { audit: createAuditLogDeps(seals) })
  return { db, store, secrets, random, clock, authAudience }
}
