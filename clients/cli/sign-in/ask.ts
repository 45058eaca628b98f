// Prompts at the terminal, on standard error, so that standard output has only results.
import type { Cli } from "../cli.ts"
import { CommandError, exitCodes } from "../failure.ts"

const context = { output: process.stderr, clearPromptOnDone: false }

/** Prompts without showing the typed text. */
export async function askSecret(message: string): Promise<string> {
  const { default: password } = await import("@inquirer/password")
  return answered(password({ message, mask: false }, context))
}

/** Ctrl+C at a prompt is no error. */
async function answered(asked: Promise<string>): Promise<string> {
  try {
    return await asked
  } catch (cause) {
    const isCanceled =
      cause instanceof Error && /^(ExitPromptError|AbortPromptError|CancelPromptError)$/.test(cause.name)
    throw isCanceled ? new CommandError("CANCELED", exitCodes.fault, "canceled", { cause }) : cause
  }
}

/** Prompts at a terminal; otherwise reads standard input completely. */
export async function readSecret({ terminal }: Cli, message: string): Promise<string> {
  return (terminal.isInteractive ? await askSecret(message) : await terminal.readInput()).trim()
}
