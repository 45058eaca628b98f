// `npm run admin -- revocations restart`: for use after a restore, when the database lacks revocations that it had
// published.
import { restartRevocationLog } from "../../store/postgres/token/revocation-log.ts"
import { openDatabase } from "../open-database.ts"
import { type Command, UsageError } from "./command.ts"

export const revocationsUsage = `revocations restart
    After a restore from a backup: starts a new revocation log and rejects every earlier access token, because
    revocations since the backup are lost. Every client refreshes once. Verifiers read the new log from its start.`

export const revocations: Command = async (args, config) => {
  if (args.length !== 1 || args[0] !== "restart") throw new UsageError(revocationsUsage)
  const database = await openDatabase(config, () => undefined)
  try {
    await restartRevocationLog(database.db, Date.now())
  } finally {
    await database.close()
  }
  return {
    text: "Access tokens issued before now are rejected. Verifiers start with a new log.",
    json: { restarted: true },
  }
}
