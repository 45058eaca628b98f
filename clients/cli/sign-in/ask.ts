// Questions to the person at the terminal. They and their answers go past standard output.
import type { Cli } from "../cli.ts"
import { CommandError, exitCodes } from "../failure.ts"

const context = { output: process.stderr, clearPromptOnDone: false }

/** What is typed is not shown. */
export async function askSecret(message: string): Promise<string> {
  const { default: password } = await import("@inquirer/password")
  return answered(password({ message, mask: false }, context))
}

/** A person who presses Ctrl+C has not made an error. */
async function answered(asked: Promise<string>): Promise<string> {
  try {
    return await asked
  } catch (cause) {
    const isCalledOff =
      cause instanceof Error && /^(ExitPromptError|AbortPromptError|CancelPromptError)$/.test(cause.name)
    throw isCalledOff ? new CommandError("CANCELED", exitCodes.fault, "called off", { cause }) : cause
  }
}

/** Asked at a terminal; elsewhere all of standard input. */
export async function readSecret({ terminal }: Cli, message: string): Promise<string> {
  return (terminal.isInteractive ? await askSecret(message) : await terminal.readInput()).trim()
}
