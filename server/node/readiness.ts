// The conditions of /readyz. Their names are public: they say which part is missing, and nothing about it.
import type { Deps } from "../rpc/deps.ts"
import { inTime, readinessMs } from "../serving/in-time.ts"
import { type Database, run } from "../store/postgres/sql.ts"
import type { ReadinessChecks } from "./probes.ts"

export function readinessOf(db: Database, { store, keys }: Pick<Deps, "store" | "keys">): ReadinessChecks {
  const isReachable = async () => (await run(db, "select 1", [])).length === 1
  return {
    database: isReachable,
    // Unknown without a database, which is then reported alone.
    schema: async () => !(await inTime(isReachable, readinessMs / 2)) || store.isReady(),
    signing_keys: async () => keys.jwks().length > 0,
  }
}
