// signet-server admin <command> (npm run admin -- <command>): runs on the server's database with the server's settings.
import { ConfigError, parseConfig } from "../config.ts"
import { audit, auditUsage } from "./audit.ts"
import { backend, backendUsage } from "./backend.ts"
import { type Command, CommandFailed, UsageError } from "./command.ts"
import { configUsage, showConfig } from "./config.ts"
import { create, createUsage } from "./create.ts"
import { keysUsage } from "./keys.ts"
import { messaging, messagingUsage } from "./messaging.ts"
import { migrate, migrateUsage } from "./migrate.ts"
import { keys } from "./open-issuer-keys.ts"
import { revocations, revocationsUsage } from "./revocations.ts"

const commands: Readonly<Record<string, { readonly run: Command; readonly usage: string }>> = {
  create: { run: create, usage: createUsage },
  migrate: { run: migrate, usage: migrateUsage },
  config: { run: async (args) => showConfig(args, process.env), usage: configUsage },
  keys: { run: keys, usage: keysUsage },
  audit: { run: audit, usage: auditUsage },
  revocations: { run: revocations, usage: revocationsUsage },
  backend: { run: backend, usage: backendUsage },
  messaging: { run: messaging, usage: messagingUsage },
}

const usage = `signet-server admin COMMAND [--json]: commands for operators. They use the server's settings and database.

${Object.values(commands)
  .map((command) => command.usage)
  .join("\n")}`

const isHelp = (arg: string | undefined): boolean => arg === "--help" || arg === "-h" || arg === "help"

async function run(argv: readonly string[]): Promise<number> {
  const isJson = argv.includes("--json")
  const [name = "", ...args] = argv.filter((arg) => arg !== "--json")
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  try {
    if (isHelp(name) || args.some((arg) => arg === "--help" || arg === "-h")) {
      console.log(command?.usage ?? usage)
      return 0
    }
    if (command === undefined) throw new UsageError(usage)
    const { text, json } = await command.run(args, parseConfig(process.env))
    console.log(isJson ? JSON.stringify(json) : text)
    return 0
  } catch (error) {
    if (isJson && error instanceof CommandFailed) {
      console.log(JSON.stringify(error.json))
      return error.code
    }
    console.error(error instanceof Error && error.message !== "" ? error.message : "the command failed")
    if (error instanceof CommandFailed) return error.code
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  }
}

process.exitCode = await run(process.argv.slice(2))
