// npm run admin -- messaging …: moves an app, or one of its tenants, between messaging backends.

import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { createConnectTransport } from "@connectrpc/connect-node"
import { parseId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import { createMessagingMover } from "../../rpc/admin/create-backend.ts"
import type { Config } from "../config.ts"
import { type Command, type CommandOutput, UsageError } from "./command.ts"
import { type Backend, backendOver } from "./moving/backend.ts"
import { abortMove, eraseMoved, type Moved, move, type Progress } from "./moving/move.ts"
import { createBearer } from "./moving/token.ts"
import { withAccountStore } from "./open-account-store.ts"

export const messagingUsage = `messaging account --app app_… [--name "messaging mover"]
    Creates the service account that moves the app and prints its secret once.
messaging move --from URL --to URL --app app_… [--tenant ten_…] CREDENTIALS
    Stops writes at the source, copies all data to the target, compares both, and opens the target. If interrupted, run it
    again: it continues.
messaging abort --from URL --to URL --app app_… [--tenant ten_…] CREDENTIALS
    Erases the copy and opens the source again. Refused once the target is open.
messaging status --from URL --to URL --app app_… [--tenant ten_…] CREDENTIALS
messaging erase --from URL --app app_… [--tenant ten_…] CREDENTIALS
    Erases the data that was moved away from that backend.
CREDENTIALS: --client ID --secret-file FILE [--audience NAME] of that account. The auth service of this configuration
    (SIGNET_ISSUER) issues the tokens.`

const commands = ["account", "move", "abort", "status", "erase"] as const

export const messaging: Command = async ([what = "", ...args], config) => {
  const command = commands.find((one) => one === what)
  if (command === undefined) throw new UsageError(messagingUsage)
  const asked = parse(args)
  const place = placeOf(asked)
  if (command === "account") return makeAccount(config, place, asked.name)
  const { from, to, client, audience = config.messagingAudience } = asked
  const file = asked["secret-file"]
  if (place === undefined || from === undefined || client === undefined || file === undefined)
    throw new UsageError(messagingUsage)
  if (to === undefined && command !== "erase") throw new UsageError(messagingUsage)
  const secret = readFileSync(file, "utf8").trim()
  const bearer = createBearer({ issuer: config.issuer, clientId: client, secret, audience })
  const at = (baseUrl: string): Backend =>
    backendOver(createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true }), place, bearer)
  const source = at(from)
  if (command === "erase" || to === undefined) {
    await eraseMoved(source)
    return { text: "The data is erased.", json: { isEmpty: true } }
  }
  const backends = { source, target: at(to) }
  switch (command) {
    case "move":
      return outputOf(await move({ ...backends, onProgress: progressPrinter() }))
    case "abort":
      await abortMove(backends)
      return { text: "The source is open again.", json: { state: "OPEN" } }
    case "status": {
      const [{ state: source }, { state: target }] = [await backends.source.status(), await backends.target.status()]
      return { text: `source ${source}, target ${target}`, json: { source, target } }
    }
  }
}

async function makeAccount(config: Config, place: Place | undefined, name = "messaging mover"): Promise<CommandOutput> {
  if (place === undefined || name === "" || name.length > 100) throw new UsageError(messagingUsage)
  const asked = { appId: place.appId, name, messagingAudience: config.messagingAudience, replaces: true }
  const made = await withAccountStore(config, (deps) => createMessagingMover(deps, asked))
  const expiresAt = new Date(made.expiresAtMs).toISOString()
  const text = `client ${made.clientId}\nsecret ${made.clientSecret}\nThe secret is shown only now. It expires at ${expiresAt}.`
  return { text, json: { ...made, expiresAt } }
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const
  const options = {
    name: text,
    from: text,
    to: text,
    app: text,
    tenant: text,
    client: text,
    "secret-file": text,
    audience: text,
  }
  try {
    return parseArgs({ args: [...args], options }).values
  } catch {
    throw new UsageError(messagingUsage)
  }
}

function placeOf({ app, tenant }: { app?: string | undefined; tenant?: string | undefined }): Place | undefined {
  const appId = parseId("app", app ?? "")
  const tenantId = tenant === undefined ? null : parseId("ten", tenant)
  return appId === undefined || tenantId === undefined ? undefined : { appId, tenantId }
}

/** Prints progress to standard error, without repeating a line. */
function progressPrinter(): (progress: Progress) => void {
  let lastLine = ""
  return ({ step, records }) => {
    const line = step === "copying" ? `${step} ${Math.floor(records / 1_000)},000 records` : step
    if (line !== lastLine) console.error(line)
    lastLine = line
  }
}

const outputOf = (moved: Moved): CommandOutput => ({
  text: `Moved ${moved.records} records, ${moved.conversations} conversations among them. Point the clients' address to the target.`,
  json: moved,
})
