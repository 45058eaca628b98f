// A process that assigns sequence numbers to revocations until it is killed. Its argument is the database URL.
import { openPostgres } from "../open.ts"
import { createRevocationLog } from "../token/revocation-log.ts"

const { db } = openPostgres(process.argv[2] ?? "", { maxConnections: 1 })
const log = createRevocationLog(db)
process.stdout.write("ready\n")
for (;;) await log.sequence()
