import type { Config } from "../config.ts"

/** An operator's command. Returns its output; an exception ends the command with its message. */
export type Command = (args: readonly string[], config: Config) => Promise<CommandOutput>

/** The output as text and, with --json, as JSON. */
export interface CommandOutput {
  readonly text: string
  readonly json: object
}

/** The command ran and found a problem: it ends with its own exit code. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed"
  readonly code: number
  readonly json: object
  constructor({ text, json }: CommandOutput, code: number) {
    super(text)
    this.code = code
    this.json = json
  }
}

/** The arguments are invalid. The message is the usage text. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}
