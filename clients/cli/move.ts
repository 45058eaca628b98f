// Builds commands that change the status of a record.
import { Command } from "commander"
import { type Cli, examples } from "./cli.ts"
import type { Run } from "./command.ts"
import { confirm, withYes } from "./confirm.ts"
import { inApp, type PlaceOptions, placeOf } from "./place.ts"

interface Move {
  /** The command's name, as in `signet tenant suspend`. */
  readonly name: string
  readonly description: string
  /** The effect, confirmed before the change: `Suspends it; sessions end.` Without it nothing is confirmed. */
  readonly warning?: string
  /** @returns The exit code. */
  readonly change: (id: string, appId: string) => Promise<number>
}

interface Thing {
  /** `signet tenant` */
  readonly path: string
  readonly argument: readonly [name: string, description: string]
  readonly example: string
  /** True if requests name the record's app. */
  readonly isInApp: boolean
}

export function moveCommands(cli: Cli, run: Run, thing: Thing, moves: readonly Move[]): readonly Command[] {
  return moves.map(({ name, description, warning, change }) => {
    const command = new Command(name).description(description).argument(...thing.argument)
    if (thing.isInApp) inApp(command)
    if (warning !== undefined) withYes(command)
    command.action(
      run(async (id: string, { yes, ...place }: PlaceOptions & { yes?: boolean }) => {
        if (warning !== undefined) await confirm(cli, yes, `${id}: ${warning}`)
        return change(id, thing.isInApp ? (await placeOf(cli, place)).appId : "")
      }),
    )
    return examples(command, [`${thing.path} ${name} ${thing.example}${warning === undefined ? "" : " --yes"}`])
  })
}
