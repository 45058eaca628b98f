// npm run admin -- backend create: creates the service account of an external messaging backend.

import { parseArgs } from "node:util"
import { parseId } from "@signet/kernel/ids"
import { createMessagingBackend } from "../../rpc/admin/create-backend.ts"
import type { Config } from "../config.ts"
import { type Command, UsageError } from "./command.ts"
import { withAccountStore } from "./open-account-store.ts"

export const backendUsage = `backend create --app app_… [--name "messaging backend"]
    Creates the service account of an external messaging backend and prints its secret once. A second call with the same
    name prints a new secret; the former one stays valid for a day.`

export const backend: Command = async ([verb, ...args], config) => {
  if (verb !== "create") throw new UsageError(backendUsage)
  const asked = parse(args, config)
  const made = await withAccountStore(config, (deps) => createMessagingBackend(deps, asked))
  const expiresAt = new Date(made.expiresAtMs).toISOString()
  const text = `SIGNET_CLIENT_ID=${made.clientId}\nSIGNET_CLIENT_SECRET=${made.clientSecret}\nThe secret is shown only now. It expires at ${expiresAt}.`
  return { text, json: { ...made, expiresAt } }
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
