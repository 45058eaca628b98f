// npm run admin -- <command>: on the server's own database, with the server's settings.
import { ConfigError, parseConfig } from "../config.ts"
import { type Command, UsageError } from "./command.ts"
import { create } from "./create.ts"
import { keys } from "./open-issuer-keys.ts"

const commands: Readonly<Record<string, Command>> = { create, keys }

async function run([name = "", ...args]: readonly string[]): Promise<number> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  try {
    if (command === undefined) throw new UsageError(`Commands: ${Object.keys(commands).join(", ")}.`)
    console.log(await command(args, parseConfig(process.env)))
    return 0
  } catch (error) {
    console.error(error instanceof Error && error.message !== "" ? error.message : "the command failed")
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  }
}

process.exitCode = await run(process.argv.slice(2))
