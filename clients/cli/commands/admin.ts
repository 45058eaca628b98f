import { Command } from "commander"
import { addressOf, type Cli, examples, keepProfile, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { openCredentialStore, storeOf } from "../credential-store.ts"
import { CommandError, exitCodes, usage } from "../failure.ts"
import { isLoopbackHost } from "../profiles.ts"
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
      .description("Create an administrator of the installation, on the server's machine and with its settings.")
      .option("--name <text>", "Name of the administrator.")
      .option("--hours <n>", "Lifetime of the personal access token in hours: 1 to 720, default 24.")
      .option("--another", "Create one more administrator.")
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .option("--login", "Sign in with the token instead of printing it; the server must be running.")
      .action(run((options: CreateOptions) => createOne(cli, options))),
    ["signet admin create --name Ada", "signet admin create --another --hours 1 --login"],
  )
  const command = new Command("admin")
    .description("Operator commands on the server's machine, with its settings; the same as signet-server admin.")
    .addCommand(create)
  for (const [name, description, example] of passed) command.addCommand(passedOn(cli, run, name, description, example))
  return command
}

/** Commands that are passed on to `signet-server admin`. */
const passed = [
  ["migrate", "Migrate the database to this version.", ""],
  [
    "keys",
    "The root key and its ceremony, the issuer's keys, receipt keys and token keys.",
    "root new --out root.json",
  ],
  ["audit", "Verify the audit log, export its checkpoints, drop old events.", "verify"],
  ["revocations", "Start a new revocation log, after a restore from a backup.", "restart"],
  ["backend", "The service account of a separate messaging backend.", "create --app app_06enrrq000edm6xx1hjq8s9c9g"],
  [
    "messaging",
    "Move an app or a tenant to another messaging backend.",
    "account --app app_06enrrq000edm6xx1hjq8s9c9g",
  ],
] as const

function passedOn(cli: Cli, run: Run, name: string, description: string, example: string): Command {
  const command = new Command(name)
    .description(`${description} Help: signet admin ${name} help`)
    .argument("[words...]", "Arguments of signet-server admin.")
    .allowUnknownOption()
    .action(
      run(async (words: readonly string[]) => {
        const json = cli.options.json && !words.includes("--json") ? ["--json"] : []
        const rest = words[0] === "help" ? ["--help"] : words
        return (await runServerProgram(cli, "admin", { args: [name, ...rest, ...json] })).code
      }),
    )
  return examples(command, [`signet admin ${name} ${example}`.trimEnd()])
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

/** Possible failures are checked before the token is created, because it cannot be shown again. */
async function createAndLogin(cli: Cli, call: ProgramCall): Promise<number> {
  const before = profileOf(cli)
  // The command runs with the server's own settings, so they determine the issuer of a loopback address.
  const isLocal = isLoopbackHost(new URL(before.server).hostname)
  const issuer = before.serverIssuer ?? (isLocal ? cli.env.SIGNET_ISSUER : undefined)
  const profile = { ...before, ...addressOf(before.server, issuer) }
  if (profile.isPassing) throw usage("SIGNET_SERVER is for single commands: nothing is stored")
  await checkIssuer(cli, profile)
  const named = { ...profile, store: profile.store ?? storeOf(cli) }
  const credentials = await openCredentialStore(cli, named)
  await credentials.prepare()
  const { code, output } = await runServerProgram(cli, "admin", { ...call, isHeard: true })
  if (code !== 0) return code
  await credentials.write("pat", patIn(output))
  keepProfile(cli, { ...named, signIn: "pat" })
  await leaveReplaced(cli, profile)
  const json = { server: profile.server, profile: profile.name, signIn: "pat" }
  show(cli, json, () => `Signed in to ${profile.server} as a new administrator.`)
  return 0
}

function patIn(output: string): string {
  const pat = /"pat":\s*"(sgpat_[0-9A-Za-z]{50})"/.exec(output)?.[1]
  if (pat === undefined) throw new CommandError("FAULT", exitCodes.fault, "the server's command returned no token")
  return pat
}
