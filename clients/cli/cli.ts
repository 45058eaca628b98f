// The dependencies of every command.
import type { Command } from "commander"
import { type ErrorReport, reportOf, usage } from "./failure.ts"
import { plainJson, plainLines } from "./plain.ts"
import {
  defaultServer,
  type Environment,
  homeOf,
  namePattern,
  type Profile,
  parseServer,
  parseServerIssuer,
  readProfiles,
  writeProfiles,
} from "./profiles.ts"
import type { Terminal } from "./terminal.ts"

export interface Cli {
  readonly terminal: Terminal
  readonly env: Environment
  readonly fetch: typeof fetch
  readonly nowMs: () => number
  /** Opens a URL in the user's browser. */
  readonly openBrowser: (url: string) => Promise<void>
  /** Options that may be anywhere on the command line. */
  readonly options: { json?: boolean; profile?: string | undefined; unlockMinutes?: number | undefined }
  /** The file of this program, which starts itself as the unlock agent; undefined if that is not offered. */
  readonly program?: string | undefined
}

export interface NamedProfile extends Profile {
  readonly name: string
  /** True for a profile of the environment, which is never stored. */
  readonly isPassing: boolean
}

/** The profile of this command. SIGNET_SERVER makes a temporary one. */
export function profileOf({ env, options }: Cli): NamedProfile {
  if (env.SIGNET_SERVER) {
    // A forgotten variable must not send one server's token to another.
    if (options.profile !== undefined) throw usage("SIGNET_SERVER and --profile exclude each other: unset one")
    const server = parseServer(env.SIGNET_SERVER)
    return { name: "SIGNET_SERVER", ...addressOf(server, env.SIGNET_SERVER_ISSUER), isPassing: true }
  }
  const { current, all } = readProfiles(homeOf(env))
  const name = options.profile ?? env.SIGNET_PROFILE_NAME ?? current
  const found = all.get(name)
  if (found === undefined && name !== "default") {
    throw usage(
      `profile ${JSON.stringify(name)} does not exist`,
      `Create it: signet profile add ${namePattern.test(name) ? name : "NAME"} --server URL`,
    )
  }
  return { name, isPassing: false, ...(found ?? { server: defaultServer }) }
}

/** A server's URL, and its issuer if it differs. */
export const addressOf = (server: string, issuer: string | undefined): Pick<Profile, "server" | "serverIssuer"> =>
  issuer ? { server, serverIssuer: parseServerIssuer(issuer, server) } : { server }

export function keepProfile({ env }: Cli, { name, isPassing, ...profile }: NamedProfile): void {
  if (isPassing) return
  const home = homeOf(env)
  const { current, all } = readProfiles(home)
  writeProfiles(home, { current, all: new Map(all).set(name, profile) })
}

/** Prints a result: one JSON text with --json, otherwise text for people. */
export function show({ terminal, options }: Cli, json: unknown, forPeople: () => string): void {
  const text = options.json
    ? plainJson(JSON.stringify(json, null, terminal.isOutTerminal ? 2 : undefined))
    : plainLines(forPeople())
  if (text !== "") terminal.out(text)
}

export function complain({ terminal, options }: Cli, { sentence, hint, problem }: ErrorReport): void {
  if (options.json) {
    terminal.err(plainJson(JSON.stringify(problem)))
    return
  }
  terminal.err(`${terminal.paint("red", "signet:", "err")} ${plainLines(sentence)}`)
  if (hint !== undefined) terminal.err(terminal.paint("dim", plainLines(hint), "err"))
}

/** Prints a note for people; nothing with --json. */
export function note({ terminal, options }: Cli, text: string): void {
  if (!options.json) terminal.err(plainLines(text))
}

/** Runs a command and prints its error. @returns The exit code. */
export async function guarded(cli: Cli, run: () => Promise<number | undefined>): Promise<number> {
  try {
    return (await run()) ?? 0
  } catch (error) {
    const report = reportOf(error)
    complain(cli, report)
    return report.exitCode
  }
}

/** Adds examples to a command's help. */
export function examples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`)
}
