// Commands that are irreversible, or that stop people, ask for confirmation.
import { createInterface } from "node:readline/promises"
import type { Command } from "commander"
import { type Cli, note } from "./cli.ts"
import { CommandError, exitCodes, usage } from "./failure.ts"

export const withYes = (command: Command): Command => command.option("-y, --yes", "Skip the confirmation.")

/**
 * Asks at a terminal; elsewhere --yes is required.
 *
 * @param what The effect, as the start of a sentence: `Suspends app_…`.
 */
export async function confirm(cli: Cli, isSaid: boolean | undefined, what: string): Promise<void> {
  if (isSaid === true) return
  if (!cli.terminal.isInteractive) throw usage(`confirmation required, use --yes: ${what}`)
  note(cli, what)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await lines.question("Continue? [y/N] ")
  lines.close()
  if (/^y(es)?$/i.test(answer.trim())) return
  throw new CommandError("CANCELED", exitCodes.fault, "canceled: nothing was changed")
}
