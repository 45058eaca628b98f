// A program that writes to a PGlite folder until it is killed: `node write-forever.ts FOLDER`. It prints each number
// after its transaction is acknowledged; each transaction writes two rows that belong together.
import { writeSync } from "node:fs"
import { CompiledQuery } from "kysely"
import { testAuditLogDeps } from "../../../../../test/support/audit-log-deps.ts"
import { migrate } from "../../migrate.ts"
import { createStore } from "../../store.ts"
import { openPglite } from "../open.ts"

const [folder = ""] = process.argv.slice(2)
const { db } = await openPglite(folder)
await migrate(db)
const store = createStore(db, { audit: testAuditLogDeps() })
const { rows } = await db.executeQuery<{ count: number }>(CompiledQuery.raw("select count(*) from id_token_use"))

for (let n = (rows[0]?.count ?? 0) / 2 + 1; ; n++) {
  await store.transaction(async (tx) => {
    await tx.idTokenUses.use(hashOf(n, 0), n)
    await tx.idTokenUses.use(hashOf(n, 1), n)
  })
  writeSync(1, `${n}\n`)
  if (n % 100 === 0) await db.executeQuery(CompiledQuery.raw("checkpoint"))
}

function hashOf(n: number, half: number): Uint8Array {
  const hash = new Uint8Array(32)
  new DataView(hash.buffer).setUint32(0, n)
  hash[31] = half
  return hash
}
