import type { Config } from "../config.ts"

/** What the operator does by hand. Returns what is printed; what it throws ends the command with its message. */
export type Command = (args: readonly string[], config: Config) => Promise<string>

/** The command was not said as it is to be: the message tells how. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}
