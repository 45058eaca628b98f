// A server in the bench's own process, on a PostgreSQL that the bench started.
import { randomBytes } from "node:crypto"
import { createSigningKeys } from "../../../server/store/postgres/keys/signing-keys.ts"
import { missedHints } from "../../../server/store/postgres/messaging/missed.ts"
import { createMoving } from "../../../server/store/postgres/messaging/moving/moving.ts"
import { createMessagingStore } from "../../../server/store/postgres/messaging/store.ts"
import { migrate } from "../../../server/store/postgres/migrate.ts"
import { openPostgres } from "../../../server/store/postgres/open.ts"
import { createLiveness } from "../../../server/store/postgres/session/liveness.ts"
import { createStore } from "../../../server/store/postgres/store.ts"
import { createRevocationLog } from "../../../server/store/postgres/token/revocation-log.ts"
import { createWakeups } from "../../../server/wakeups/wakeups.ts"
import { testAuditLogDeps } from "../../support/audit-log-deps.ts"
import type { TestStore } from "../../support/postgres.ts"
import type { TestServer, TestServerOptions } from "../../support/server.ts"

/**
 * Migrates the database, and has the server write to it.
 *
 * @param start `startTestServer`, or what builds on it.
 */
export async function startInProcess<Server extends TestServer>(
  databaseUrl: string,
  start: (options: TestServerOptions) => Promise<Server>,
  settings: TestServerOptions["settings"] = {},
): Promise<{ server: Server; close(): Promise<void> }> {
  const { db, close } = openPostgres(databaseUrl, { maxConnections: 20 })
  await migrate(db)
  const onRevoked = new Set<() => void>()
  const told = () => {
    for (const listener of onRevoked) listener()
  }
  const options = { audit: testAuditLogDeps(), onRevoked: told }
  const store: TestStore = {
    db,
    store: createStore(db, options),
    messaging: createMessagingStore(db, options),
    moving: createMoving(db, options),
    liveness: createLiveness(db),
    signingKeys: createSigningKeys(db, told),
    revocationLog: createRevocationLog(db),
    onRevoked,
    close,
  }
  const others = {
    findDatabase: async () => databaseUrl,
    origin: randomBytes(8).toString("hex"),
    missed: missedHints(db),
  }
  const wakeups = createWakeups({ others, onError: console.error })
  const server = await start({ store, wakeups, settings })
  return {
    server,
    async close() {
      await server.close()
      await wakeups.close()
      await close()
    },
  }
}
