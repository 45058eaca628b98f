// npm run admin -- backend create: the service account of a messaging backend that runs elsewhere.
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import { parseId } from "@signet/kernel/ids"
import { createMessagingBackend } from "../../rpc/admin/create-backend.ts"
import { createAuditWriting } from "../../store/postgres/audit/audit-writing.ts"
import { migrate } from "../../store/postgres/migrate.ts"
import { createStore } from "../../store/postgres/store.ts"
import type { Config } from "../config.ts"
import { openDatabase } from "../open-database.ts"
import { openSecrets } from "../open-secrets.ts"
import { type Command, UsageError } from "./command.ts"

export const backendUsage = `backend create --app app_… [--name "messaging backend"]
    Makes the service account of a messaging backend that runs elsewhere, and prints its secret, once. Again for the same
    name it prints another secret: the one before serves for a day yet.`

export const backend: Command = async ([verb, ...args], config) => {
  if (verb !== "create") throw new UsageError(backendUsage)
  const asked = parse(args, config)
  const database = await openDatabase(config, () => {})
  try {
    await migrate(database.db)
    const { secrets, seals } = await openSecrets(database.db, config)
    const made = await createMessagingBackend(
      {
        store: createStore(database.db, { audit: createAuditWriting(seals) }),
        secrets,
        random: { bytes: (length) => randomBytes(length) },
        clock: { nowMs: () => Date.now() },
        authAudience: config.authAudience,
      },
      asked,
    )
    const expiresAt = new Date(made.expiresAtMs).toISOString()
    const text = `SIGNET_CLIENT_ID=${made.clientId}\nSIGNET_CLIENT_SECRET=${made.clientSecret}\nThe secret is shown only now. It expires at ${expiresAt}.`
    return { text, json: { ...made, expiresAt } }
  } finally {
    await database.close()
  }
}

function parse(args: readonly string[], { messagingAudience }: Config) {
  const options = { app: { type: "string" }, name: { type: "string" } } as const
  const { app = "", name = "messaging backend" } = parsed(() => parseArgs({ args: [...args], options }))
  const appId = parseId("app", app)
  if (appId === undefined || name === "" || name.length > 100 || /\p{Cc}/u.test(name))
    throw new UsageError(backendUsage)
  return { appId, name, messagingAudience, replaces: true }
}

function parsed<T>(parse: () => { values: T }): T {
  try {
    return parse().values
  } catch {
    throw new UsageError(backendUsage)
  }
}
