import { Command } from "commander"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { runServerProgram } from "../server-program.ts"

interface TestOptions {
  contract?: string
  explain?: boolean
}

export function policyCommand(cli: Cli, run: Run): Command {
  const testCommand = examples(
    new Command("test")
      .description("Run policy tests: which callers a requirement allows or denies, and why.")
      .argument("<file...>", "Policy test files.")
      .option("--contract <file>", "A compiled contract (buf build -o FILE), for requirements of methods.")
      .option("--explain", "Show for every case the requirement, the facts and the deciding check.")
      .action(run((files: readonly string[], options: TestOptions) => test(cli, files, options))),
    ["signet policy test docs/examples/policy/notes.policy.yaml", "signet policy test *.policy.yaml --explain"],
  )
  return new Command("policy").description("Requirements, tested without a server.").addCommand(testCommand)
}

async function test(cli: Cli, files: readonly string[], { contract, explain = false }: TestOptions): Promise<number> {
  const flags = [...(contract === undefined ? [] : ["--contract", contract]), ...(explain ? ["--explain"] : [])]
  const args = ["test", ...files, ...flags]
  const { code, output } = await runServerProgram(cli, "policy", { args, isHeard: cli.options.json === true })
  if (cli.options.json) show(cli, { passed: code === 0, report: output.trimEnd() }, () => "")
  return code
}
