import { readFileSync } from "node:fs"
import {
  type DescField,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf"
import { requirementOf } from "@signet/guard/requirement"
import { describe } from "@signet/kernel/authz/requirement"
import { Command } from "commander"
import { openAccount, publicTransport } from "../account.ts"
import { callAs } from "../api.ts"
import { type Cli, examples, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { methodNamed, nameOf, services } from "../methods.ts"
import { plainJson } from "../plain.ts"
import { parseRequest, setFields } from "../request.ts"
import { formatRecord, formatTable } from "../table.ts"

interface ApiOptions {
  readonly field?: readonly string[]
  readonly input?: string
  readonly list?: boolean
  readonly describe?: boolean
  readonly anonymous?: boolean
}

export function apiCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("api")
      .description("Call any method of the contract with JSON, as the signed-in caller. Pass secrets with --input -.")
      .argument(
        "[method]",
        "AuthService.Me, or signet.auth.v1.AuthService/Me; with --list, a part of the names to list.",
      )
      .option(
        "-f, --field <path=value>",
        "Set a field, such as tenant.name=Kew. Repeat the option for a list.",
        (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
      )
      .option("--input <file>", "The request as JSON, from a file or (-) standard input. -f overrides its fields.")
      .option("--list", "List the methods and their requirements.")
      .option("--describe", "Show the method's fields and requirement.")
      .option("--anonymous", "Send no token, for public methods.")
      .action(run((method: string | undefined, options: ApiOptions) => callAny(cli, method, options))),
    [
      "signet api --list AppAuth",
      "signet api AuthService.Me",
      "signet api AppAuthService.CreateTenant --describe",
      "signet api signet.auth.v1.AppAuthService/CreateTenant -f app_id=app_06enrrq000edm6xx1hjq8s9c9g -f tenant.name=Kew",
      "signet api AppAuthService.ListApps --input request.json",
    ],
  )
}

async function callAny(cli: Cli, text: string | undefined, options: ApiOptions): Promise<number> {
  if (options.list || text === undefined) return listMethods(cli, text ?? "")
  const method = methodNamed(text)
  if (options.describe) return describeMethod(cli, method)
  const request = parseRequest(method.input, setFields(method.input, await inputOf(cli, options), options.field ?? []))
  if (isUnary(method)) return callUnary(cli, method, request, options)
  if (isServerStreaming(method)) return callStream(cli, method, request)
  throw usage(`${nameOf(method)} uses client streaming: use a client generated from the contract`)
}

const isUnary = (method: DescMethod): method is DescMethod & DescMethodUnary => method.methodKind === "unary"
const isServerStreaming = (method: DescMethod): method is DescMethod & DescMethodServerStreaming =>
  method.methodKind === "server_streaming"

async function inputOf(cli: Cli, { input }: ApiOptions): Promise<JsonObject> {
  if (input === undefined) return {}
  const text = input === "-" ? await cli.terminal.readInput() : readFileSync(input, "utf8")
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw usage(`${input === "-" ? "standard input" : input} is not valid JSON`)
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw usage("a request is a JSON object")
  return { ...json }
}

async function callUnary(
  cli: Cli,
  method: DescMethodUnary,
  request: Message,
  { anonymous = false }: ApiOptions,
): Promise<number> {
  const print = (answer: Message) => {
    cli.terminal.out(
      plainJson(JSON.stringify(toJson(method.output, answer), null, cli.terminal.isOutTerminal ? 2 : undefined)),
    )
    return 0
  }
  if (!anonymous) return callAs(cli, method, request, (_, answer) => print(answer))
  const { message } = await publicTransport(profileOf(cli)).unary(method, undefined, 20_000, undefined, request)
  return print(message)
}

/** Prints one line per message, until the server or the user ends the stream. */
async function callStream(cli: Cli, method: DescMethodServerStreaming, request: Message): Promise<number> {
  await using account = await openAccount(cli, profileOf(cli))
  const transport = await account.transport()
  async function* one() {
    yield request
  }
  const { message } = await transport.stream(method, undefined, undefined, undefined, one())
  for await (const answer of message) cli.terminal.out(plainJson(JSON.stringify(toJson(method.output, answer))))
  return 0
}

const requires = (method: DescMethod): string => describe(requirementOf(method))

function listMethods(cli: Cli, part: string): number {
  const all = services.flatMap(({ methods }) => methods)
  const found = all.filter((method) =>
    nameOf(method)
      .toLowerCase()
      .includes(part.toLowerCase().replace(/\.(?=\w+$)/, "/")),
  )
  const methods = found.length > 0 ? found : all.filter((one) => nameOf(one).toLowerCase().includes(part.toLowerCase()))
  if (methods.length === 0) throw usage(`no method name contains ${part}`, "All of them: signet api --list")
  const rows = methods.map((method) => ({
    method: nameOf(method),
    kind: method.methodKind,
    requires: requires(method),
  }))
  show(cli, rows, () =>
    formatTable(
      cli.terminal,
      ["METHOD", "KIND", "REQUIRES"],
      rows.map((row) => [row.method, row.kind.replaceAll("_", " "), row.requires]),
    ),
  )
  return 0
}

function describeMethod(cli: Cli, method: DescMethod): number {
  const fields = method.input.fields.map((field) => ({ name: field.jsonName, type: typeOf(field) }))
  const json = { method: nameOf(method), kind: method.methodKind, requires: requires(method), fields }
  show(cli, json, () =>
    [
      formatRecord(cli.terminal, [
        ["method", json.method],
        ["requires", json.requires],
      ]),
      formatTable(
        cli.terminal,
        ["FIELD", "TYPE"],
        fields.map(({ name, type }) => [name, type]),
      ),
    ].join("\n\n"),
  )
  return 0
}

function typeOf(field: DescField): string {
  const one =
    field.message?.name ?? field.enum?.values.map(({ name }) => name).join(" | ") ?? scalars[field.scalar ?? 0] ?? "?"
  const inner = field.message?.typeName.startsWith("signet.")
    ? `${one} {${field.message.fields.map(({ jsonName }) => jsonName).join(", ")}}`
    : one
  if (field.fieldKind === "list") return `list of ${inner}`
  return field.fieldKind === "map" ? `map to ${inner}` : inner
}

/** By their number in descriptors. */
const scalars: Readonly<Record<number, string>> = {
  1: "double",
  3: "int64",
  4: "uint64",
  5: "int32",
  8: "bool",
  9: "string",
  12: "bytes (base64)",
  13: "uint32",
}
