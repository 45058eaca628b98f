// Builds the command line and runs a command.
import { Command, CommanderError, Option } from "commander"
import { type Cli, complain, examples, guarded } from "./cli.ts"
import type { Run } from "./command.ts"
import { exitCodes, reportOf, usage } from "./failure.ts"
import { hiddenCommand } from "./hidden.ts"

interface Part {
  readonly name: string
  readonly group: string
  readonly load: () => Promise<(cli: Cli, run: Run) => Command>
}

const groups = {
  account: "Sign in:",
  administer: "Administer:",
  operate: "Operate a server (its own programs, as signet-server of @signet/server):",
  more: "More:",
}
const { account, administer, operate, more } = groups

/** Each command is imported on use, so that a short command starts fast. */
const parts: readonly Part[] = [
  { name: "login", group: account, load: async () => (await import("./commands/login.ts")).loginCommand },
  { name: "logout", group: account, load: async () => (await import("./commands/logout.ts")).logoutCommand },
  { name: "whoami", group: account, load: async () => (await import("./commands/whoami.ts")).whoamiCommand },
  { name: "session", group: account, load: async () => (await import("./commands/session.ts")).sessionCommand },
  { name: "pat", group: account, load: async () => (await import("./commands/pat.ts")).patCommand },
  { name: "token", group: account, load: async () => (await import("./commands/token.ts")).tokenCommand },
  { name: "profile", group: account, load: async () => (await import("./commands/profile.ts")).profileCommand },
  { name: "unlock", group: account, load: async () => (await import("./commands/unlock.ts")).unlockCommand },
  { name: "lock", group: account, load: async () => (await import("./commands/unlock.ts")).lockCommand },
  { name: "app", group: administer, load: async () => (await import("./commands/app.ts")).appCommand },
  { name: "user", group: administer, load: async () => (await import("./commands/user.ts")).userCommand },
  { name: "tenant", group: administer, load: async () => (await import("./commands/tenant.ts")).tenantCommand },
  { name: "member", group: administer, load: async () => (await import("./commands/member.ts")).memberCommand },
  { name: "invite", group: administer, load: async () => (await import("./commands/invite.ts")).inviteCommand },
  {
    name: "permission",
    group: administer,
    load: async () => (await import("./commands/permission.ts")).permissionCommand,
  },
  { name: "role", group: administer, load: async () => (await import("./commands/role.ts")).roleCommand },
  { name: "grant", group: administer, load: async () => (await import("./commands/grant.ts")).grantCommand },
  { name: "provider", group: administer, load: async () => (await import("./commands/provider.ts")).providerCommand },
  {
    name: "service-account",
    group: administer,
    load: async () => (await import("./commands/service-account.ts")).serviceAccountCommand,
  },
  { name: "device", group: administer, load: async () => (await import("./commands/device.ts")).deviceCommand },
  { name: "lockout", group: administer, load: async () => (await import("./commands/lockout.ts")).lockoutCommand },
  { name: "audit", group: administer, load: async () => (await import("./commands/audit.ts")).auditCommand },
  { name: "serve", group: operate, load: async () => (await import("./commands/serve.ts")).serveCommand },
  { name: "migrate", group: operate, load: async () => (await import("./commands/serve.ts")).migrateCommand },
  { name: "admin", group: operate, load: async () => (await import("./commands/admin.ts")).adminCommand },
  { name: "keys", group: operate, load: async () => (await import("./commands/keys.ts")).keysCommand },
  { name: "policy", group: operate, load: async () => (await import("./commands/policy.ts")).policyCommand },
  { name: "api", group: more, load: async () => (await import("./commands/api.ts")).apiCommand },
  { name: "completion", group: more, load: async () => (await import("./commands/completion.ts")).completionCommand },
]

/** @param args The arguments. If they name no command, all commands are built, for help, completion and suggestions. */
export async function buildProgram(
  cli: Cli,
  version: string,
  args: readonly string[],
  finish: (code: number) => void,
): Promise<Command> {
  const run: Run =
    (work) =>
    async (...words) => {
      finish(await guarded(cli, () => work(...words)))
    }
  const program = new Command("signet")
    .description("Sign in to, administer and operate Signet.")
    .version(version, "-V, --version", "Print the version.")
    .helpCommand("help [command]", "Show help.")
    .addOption(new Option("--json", "Print results and errors as JSON."))
    .addOption(new Option("--profile <name>", "Profile to use; see signet profile."))
  const isCompletion = args[0] === hiddenCommand
  const named = parts.filter(({ name }) => args.includes(name))
  for (const { group, load } of named.length === 0 || isCompletion ? parts : named) {
    program.commandsGroup(group)
    program.addCommand((await load())(cli, run))
  }
  if (isCompletion) {
    const { completeCommand } = await import("./commands/completion.ts")
    program.addCommand(
      completeCommand(cli, run, () => program),
      { hidden: true },
    )
  }
  examples(program, ["signet serve", "signet login", "signet token get --audience svc-notes"])
  quiet(program, cli)
  return program
}

/** Makes commands throw instead of exiting, print results to our output, and leave errors to us. */
function quiet(command: Command, cli: Cli): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => cli.terminal.out(text.replace(/\n$/, "")),
    writeErr: (text) => cli.terminal.err(text.replace(/\n$/, "")),
    outputError: () => undefined,
  })
  command.helpOption("-h, --help", "Show help.")
  command.configureHelp({ showGlobalOptions: true, helpWidth: 100 })
  for (const inner of command.commands) quiet(inner.helpCommand(false), cli)
}

/** @returns The exit code. */
export async function runProgram(cli: Cli, version: string, args: readonly string[]): Promise<number> {
  let code: number = exitCodes.ok
  const program = await buildProgram(cli, version, args, (ended) => {
    code = ended
  })
  // Read before parsing, so that a parse error is printed in the requested form.
  cli.options.json = args.includes("--json")
  program.on("option:profile", (name: string) => {
    cli.options.profile = name
  })
  try {
    await program.parseAsync([...args], { from: "user" })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return exitCodes.ok
    if (error.code !== "commander.help") {
      complain(cli, reportOf(usage(error.message.replace(/^error: /, ""), `See: ${helpFor(program, args)}`)))
    }
    return exitCodes.usage
  }
}

/** The innermost command that the arguments name. */
function helpFor(program: Command, args: readonly string[]): string {
  const names = ["signet"]
  let at = program
  for (const word of args) {
    const inner = at.commands.find((command) => command.name() === word)
    if (inner === undefined) continue
    names.push(word)
    at = inner
  }
  return `${names.join(" ")} --help`
}
