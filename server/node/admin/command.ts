import type { Config } from "../config.ts"

/** What the operator does by hand. Returns what is printed; what it throws ends the command with its message. */
export type Command = (args: readonly string[], config: Config) => Promise<Said>

/** For people, and with --json for programs. */
export interface Said {
  readonly text: string
  readonly json: object
}

/** The command did what it was asked, and what it found is this: it ends with a code of its own. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed"
  readonly code: number
  readonly json: object
  constructor({ text, json }: Said, code: number) {
    super(text)
    this.code = code
    this.json = json
  }
}

/** The command was not said as it is to be: the message tells how. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}
