import { Command, Option } from "commander"
import { openAccount } from "../account.ts"
import { type Cli, examples, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { exitCodes, usage } from "../failure.ts"
import { type Inspected, inspectToken } from "../inspect.ts"
import { collect } from "../lists.ts"
import { issuerOf } from "../profiles.ts"
import { dateText } from "../shape.ts"
import { formatRecord } from "../table.ts"

interface InspectOptions {
  audience?: string
  method?: string
  scope?: readonly string[]
}

export function tokenCommand(cli: Cli, run: Run): Command {
  const get = examples(
    new Command("get")
      .description(
        "Print an access token for a service. It is valid for minutes: request a new one instead of storing it.",
      )
      .option("--audience <name>", "Audience of the token. Default: the auth service.")
      .option("--header", "Print it as a header for curl -H @-, because other users can see command lines.")
      .action(run((options: { audience?: string; header?: boolean }) => getOne(cli, options))),
    [
      "signet token get --audience svc-notes",
      "signet token get --audience svc-notes --header | curl -s -H @- http://127.0.0.1:9090/notes",
    ],
  )
  const inspect = examples(
    new Command("inspect")
      .description("Show the claims of an access token, whether it is valid, and whether it meets a requirement.")
      .argument("[-]", "A dash reads the token from standard input. Default: the token of the sign-in.")
      .option("--audience <name>", "Audience of the token; with a dash, the audience that it must have.")
      .option("--method <name>", "Check whether it can call a method, such as AppAuthService.CreateApp.")
      .addOption(new Option("--scope <key...>", "Check whether it has these scopes.").argParser(collect))
      .action(run((from: string | undefined, options: InspectOptions) => inspectOne(cli, from, options))),
    [
      "signet token inspect",
      "signet token inspect --method AppAuthService.CreateApp",
      "signet token get --audience svc-notes | signet token inspect - --audience svc-notes --scope notes.read",
    ],
  )
  return new Command("token").description("Access tokens.").addCommand(get).addCommand(inspect)
}

async function getOne(
  cli: Cli,
  { audience, header = false }: { audience?: string; header?: boolean },
): Promise<number> {
  await using account = await openAccount(cli, profileOf(cli))
  const token = await account.accessToken(audience)
  const { expiresInSeconds, scopes } = token
  const json = {
    accessToken: token.token,
    tokenType: "Bearer",
    audience: token.audience,
    expiresIn: expiresInSeconds,
    scopes,
  }
  show(cli, json, () => (header ? `authorization: Bearer ${token.token}` : token.token))
  return 0
}

async function inspectOne(
  cli: Cli,
  from: string | undefined,
  { audience, method, scope }: InspectOptions,
): Promise<number> {
  if (from !== undefined && from !== "-") {
    throw usage("other users can see a token on the command line: pipe it in", "signet token inspect - < token.txt")
  }
  const token = from === "-" ? await cli.terminal.readInput() : await ownToken(cli, audience)
  const profile = profileOf(cli)
  const asked = { issuer: issuerOf(profile), server: profile.server, audience, method, scopes: scope ?? [] }
  const inspected = await cli.terminal.during("verifying …", inspectToken(cli, token, asked))
  show(cli, inspected, () => forPeople(cli, inspected))
  if (inspected.reason !== null) return exitCodes.unauthenticated
  return inspected.requirement?.allowed === false ? exitCodes.denied : exitCodes.ok
}

async function ownToken(cli: Cli, audience: string | undefined): Promise<string> {
  await using account = await openAccount(cli, profileOf(cli))
  return (await account.accessToken(audience)).token
}

function forPeople({ terminal }: Cli, { kind, reason, claims, requirement }: Inspected): string {
  const verdict = reason === null ? terminal.paint("green", "good") : terminal.paint("red", `invalid: ${reason}`)
  const lines = [`${kind}, ${verdict}`]
  if (claims !== undefined) {
    lines.push(
      formatRecord(
        terminal,
        Object.entries(claims).map(([name, value]) => [name, textOf(name, value)]),
      ),
    )
  }
  if (requirement !== undefined) {
    const answer = requirement.allowed ? terminal.paint("green", "allowed") : terminal.paint("red", "denied")
    lines.push(`${requirement.describes}: ${answer}`, ...requirement.because.map((line) => `  ${line}`))
  }
  return lines.join("\n")
}

const times = ["iat", "nbf", "exp", "auth_time"]

function textOf(name: string, value: unknown): string {
  if (times.includes(name) && typeof value === "number") return `${value} (${dateText(new Date(value * 1_000))})`
  if (Array.isArray(value)) return value.join(" ")
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)
}
