// npm run admin -- <command>: on the server's own database, with the server's settings.
import { ConfigError, parseConfig } from "../config.ts"
import { audit } from "./audit.ts"
import { backend } from "./backend.ts"
import { type Command, CommandFailed, UsageError } from "./command.ts"
import { create } from "./create.ts"
import { messaging } from "./messaging.ts"
import { migrate } from "./migrate.ts"
import { keys } from "./open-issuer-keys.ts"
import { revocations } from "./revocations.ts"

const commands: Readonly<Record<string, Command>> = { audit, backend, create, keys, messaging, migrate, revocations }

async function run(said: readonly string[]): Promise<number> {
  const isJson = said.includes("--json")
  const [name = "", ...args] = said.filter((arg) => arg !== "--json")
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  try {
    if (command === undefined) throw new UsageError(`Commands: ${Object.keys(commands).join(", ")}.`)
    const { text, json } = await command(args, parseConfig(process.env))
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
