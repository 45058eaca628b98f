// What every command acts with.
import type { Command } from "commander"
import { type Told, toldOf, usage } from "./failure.ts"
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
  /** Shows an address to the person, in a browser. */
  readonly openBrowser: (url: string) => Promise<void>
  /** Said on the command line, wherever it was said. */
  readonly options: { json?: boolean; profile?: string | undefined; unlockMinutes?: number | undefined }
  /** The file of this command, which starts it again as the unlock agent; undefined where that is not offered. */
  readonly program?: string | undefined
}

export interface NamedProfile extends Profile {
  readonly name: string
  /** Only for this one command: nothing is kept. */
  readonly isPassing: boolean
}

/** The profile that this command is about. SIGNET_SERVER makes one that is never kept. */
export function profileOf({ env, options }: Cli): NamedProfile {
  if (env.SIGNET_SERVER) {
    // A token of one server must not go to another because a variable was forgotten.
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

/** A server's address, and its issuer where that is another one. */
export const addressOf = (server: string, issuer: string | undefined): Pick<Profile, "server" | "serverIssuer"> =>
  issuer ? { server, serverIssuer: parseServerIssuer(issuer, server) } : { server }

export function keepProfile({ env }: Cli, { name, isPassing, ...profile }: NamedProfile): void {
  if (isPassing) return
  const home = homeOf(env)
  const { current, all } = readProfiles(home)
  writeProfiles(home, { current, all: new Map(all).set(name, profile) })
}

/** Prints a result: JSON in one piece with --json, else what people read. */
export function show({ terminal, options }: Cli, json: unknown, forPeople: () => string): void {
  const text = options.json
    ? plainJson(JSON.stringify(json, null, terminal.isOutTerminal ? 2 : undefined))
    : plainLines(forPeople())
  if (text !== "") terminal.out(text)
}

export function complain({ terminal, options }: Cli, { sentence, hint, problem }: Told): void {
  if (options.json) {
    terminal.err(plainJson(JSON.stringify(problem)))
    return
  }
  terminal.err(`${terminal.paint("red", "signet:", "err")} ${plainLines(sentence)}`)
  if (hint !== undefined) terminal.err(terminal.paint("dim", plainLines(hint), "err"))
}

/** Said to people, and to nobody else. */
export function tell({ terminal, options }: Cli, text: string): void {
  if (!options.json) terminal.err(plainLines(text))
}

/** Runs a command and says what went wrong. @returns The exit code. */
export async function guarded(cli: Cli, run: () => Promise<number | undefined>): Promise<number> {
  try {
    return (await run()) ?? 0
  } catch (error) {
    const told = toldOf(error)
    complain(cli, told)
    return told.exitCode
  }
}

/** Adds examples to a command's help. */
export function examples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`)
}
