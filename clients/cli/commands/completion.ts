import { Argument, Command } from "commander"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { complete } from "../completion/complete.ts"
import { type Shell, scripts, shells } from "../completion/scripts.ts"
import { hiddenCommand } from "../hidden.ts"

export function completionCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("completion")
      .description("Print the completion script for a shell.")
      .addArgument(new Argument("<shell>", "Which shell.").choices([...shells]))
      .action(
        run(async (shell: Shell) => {
          cli.terminal.out(scripts[shell].trimEnd())
          return 0
        }),
      ),
    ['eval "$(signet completion bash)"', "signet completion fish | source"],
  )
}

export function completeCommand(cli: Cli, run: Run, program: () => Command): Command {
  return new Command(hiddenCommand)
    .argument("[words...]")
    .allowUnknownOption()
    .action(
      run(async (words: readonly string[]) => {
        const lines = complete(program(), words.length === 0 ? [""] : words).map(
          ({ word, description }) => `${word}\t${description}`,
        )
        if (lines.length > 0) cli.terminal.out(lines.join("\n"))
        return 0
      }),
    )
}
