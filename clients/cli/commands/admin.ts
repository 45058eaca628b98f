import { Command } from "commander"
import { type Cli, examples, keepProfile, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { CommandError, exitCodes, usage } from "../failure.ts"
import { openKeep, storeOf } from "../keep.ts"
import { type ProgramCall, runServerProgram } from "../server-program.ts"
import { checkIssuer } from "../sign-in/issuer.ts"
import { leaveReplaced } from "../sign-in/replaced.ts"

interface CreateOptions {
  name?: string
  hours?: string
  another?: boolean
  data?: string
  login?: boolean
}

export function adminCommand(cli: Cli, run: Run): Command {
  const create = examples(
    new Command("create")
      .description("Make an administrator of the installation, on the server's own machine and with its settings.")
      .option("--name <text>", "What the administrator is called.")
      .option("--hours <n>", "How long the personal access token is good: 1 to 720, 24 when it is left out.")
      .option("--another", "Also when there is an administrator.")
      .option("--data <folder>", "The folder of the development profile: SIGNET_DATA.")
      .option("--login", "Sign in with the token at once instead of printing it; the server must be running.")
      .action(run((options: CreateOptions) => createOne(cli, options))),
    ["signet admin create --name Ada", "signet admin create --another --hours 1 --login"],
  )
  return new Command("admin").description("Who administers the installation.").addCommand(create)
}

async function createOne(
  cli: Cli,
  { name, hours, another = false, data, login = false }: CreateOptions,
): Promise<number> {
  const args = [
    "create",
    ...(name === undefined ? [] : ["--name", name]),
    ...(hours === undefined ? [] : ["--hours", hours]),
    ...(another ? ["--another"] : []),
    ...(login || cli.options.json ? ["--json"] : []),
  ]
  const call = { args, settings: { SIGNET_DATA: data } }
  return login ? createAndLogin(cli, call) : (await runServerProgram(cli, "admin", call)).code
}

/** What could go wrong is tried before the token is made: nobody could show it again. */
async function createAndLogin(cli: Cli, call: ProgramCall): Promise<number> {
  const profile = profileOf(cli)
  if (profile.isPassing) throw usage("SIGNET_SERVER is for single commands: nothing is kept")
  await checkIssuer(cli, profile)
  const named = { ...profile, store: profile.store ?? storeOf(cli) }
  const keep = await openKeep(cli, named)
  await keep.prepare()
  const { code, output } = await runServerProgram(cli, "admin", { ...call, isHeard: true })
  if (code !== 0) return code
  await keep.write("pat", patIn(output))
  keepProfile(cli, { ...named, signIn: "pat" })
  await leaveReplaced(cli, profile)
  const json = { server: profile.server, profile: profile.name, signIn: "pat" }
  show(cli, json, () => `Signed in to ${profile.server} as a new administrator.`)
  return 0
}

function patIn(output: string): string {
  const pat = /"pat":\s*"(sgpat_[0-9A-Za-z]{50})"/.exec(output)?.[1]
  if (pat === undefined) throw new CommandError("FAULT", exitCodes.fault, "the server's command gave no token")
  return pat
}
