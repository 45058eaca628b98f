import { toJson } from "@bufbuild/protobuf"
import {
  ClientAuthMethod,
  ClientAuthMethodSchema,
  type ServiceAccount,
  ServiceAccount_StatusSchema,
  ServiceAccountSchema,
  ServiceAccountService,
  type ServiceSecret,
  ServiceSecret_StatusSchema,
  ServiceSecretSchema,
} from "@signet/proto/auth/v1/service_account_service"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect, collectPages, limitOption } from "../lists.ts"
import { nameIn, timeText, valueIn } from "../shape.ts"
import { formatRecord, formatTable } from "../table.ts"
import { keyOf, secretOf } from "./service-credentials.ts"

const calls = ServiceAccountService.method
const methods = ["client-secret-basic", "client-secret-post", "private-key-jwt"]
const accountArgument = ["<account>", "Its id: sac_…"] as const

interface CreateOptions {
  auth: readonly string[]
  owns?: readonly string[]
  calls?: readonly string[]
  scope?: readonly string[]
  defaultScope?: readonly string[]
}

export function serviceAccountCommand(cli: Cli, run: Run): Command {
  const parts = [createOf, listOf, getOf, statusOf, secretOf, keyOf].flatMap((part) => part(cli, run))
  const command = new Command("service-account")
    .alias("sa")
    .description("Service accounts: their audiences, scopes and credentials.")
  for (const part of parts) command.addCommand(part)
  return command
}

function createOf(cli: Cli, run: Run): Command {
  return examples(
    new Command("create")
      .description("Create a service account in the app of the sign-in, without a credential.")
      .argument("<name>", "Display name for administrators.")
      .addOption(
        new Option("--auth <method...>", `Client authentication method: ${methods.join(", ")}.`)
          .argParser(collect)
          .default(["client-secret-basic"]),
      )
      .addOption(new Option("--owns <audience...>", "Audience that the service is itself.").argParser(collect))
      .addOption(new Option("--calls <audience...>", "Audience that it can call.").argParser(collect))
      .addOption(new Option("--scope <key...>", "Scope that its tokens can have.").argParser(collect))
      .addOption(new Option("--default-scope <key...>", "Scope of a token request without scopes.").argParser(collect))
      .action(
        run((name: string, { auth, owns = [], calls: may = [], scope = [], defaultScope = [] }: CreateOptions) => {
          const request = {
            name,
            authMethods: auth.map(parseMethod),
            ownedAudiences: [...owns],
            allowedAudiences: [...may],
            scopes: [...scope],
            defaultScopes: [...defaultScope],
          }
          return callAs(cli, calls.createServiceAccount, request, (_, { serviceAccount }) =>
            shown(cli, serviceAccount, []),
          )
        }),
      ),
    [
      "signet service-account create notes --owns svc-notes --calls svc-notes,auth --scope notes.read,auth.introspect --default-scope notes.read",
    ],
  )
}

function parseMethod(text: string): ClientAuthMethod {
  const method = methods.includes(text) ? valueIn(ClientAuthMethod, text) : undefined
  if (method === undefined) throw usage(`--auth must be one of ${methods.join(", ")}`)
  return method
}

function listOf(cli: Cli, run: Run): Command {
  const listThem = (limit: number) =>
    callAs(cli, calls.listServiceAccounts, { pageSize: Math.min(limit, 200) }, async (api, first) => {
      const accounts = await collectPages(limit, async ({ pageSize, pageToken }) => {
        const page = pageToken === "" ? first : await api.call(calls.listServiceAccounts, { pageSize, pageToken })
        return { items: page.serviceAccounts, nextPageToken: page.nextPageToken }
      })
      show(
        cli,
        accounts.map((account) => toJson(ServiceAccountSchema, account)),
        () =>
          formatTable(
            cli.terminal,
            ["ID", "NAME", "STATUS", "IS", "CALLS"],
            accounts.map(({ id, name, status, ownedAudiences, allowedAudiences }) => [
              id,
              name,
              nameIn(ServiceAccount_StatusSchema, status),
              ownedAudiences.join(","),
              allowedAudiences.join(","),
            ]),
          ),
      )
      return 0
    })
  return examples(
    new Command("list")
      .alias("ls")
      .description("List the service accounts of the app.")
      .addOption(limitOption())
      .action(run(({ limit }: { limit: number }) => listThem(limit))),
    ["signet service-account list"],
  )
}

function getOf(cli: Cli, run: Run): Command {
  return examples(
    new Command("get")
      .description("Show a service account and its credentials: hints, never secrets.")
      .argument(...accountArgument)
      .action(
        run((serviceAccountId: string) =>
          callAs(cli, calls.getServiceAccount, { serviceAccountId }, (_, { serviceAccount, secrets }) =>
            shown(cli, serviceAccount, secrets),
          ),
        ),
      ),
    ["signet service-account get sac_06enrrq000edm6xx1hjq8s9c9g"],
  )
}

function statusOf(cli: Cli, run: Run): readonly Command[] {
  const one = (name: "disable" | "enable", description: string) => {
    const status = name === "disable" ? "DISABLED" : "ACTIVE"
    const change = (serviceAccountId: string) => {
      const printStatus = () => {
        show(cli, { id: serviceAccountId, status }, () => `${serviceAccountId} is ${status.toLowerCase()}.`)
        return 0
      }
      return name === "disable"
        ? callAs(cli, calls.disableServiceAccount, { serviceAccountId }, printStatus)
        : callAs(cli, calls.enableServiceAccount, { serviceAccountId }, printStatus)
    }
    return examples(
      new Command(name)
        .description(description)
        .argument(...accountArgument)
        .action(run(change)),
      [`signet service-account ${name} sac_06enrrq000edm6xx1hjq8s9c9g`],
    )
  }
  return [
    one("disable", "Disable a service account. Its credentials and tokens are rejected."),
    one("enable", "Enable a service account."),
  ]
}

function shown(cli: Cli, account: ServiceAccount | undefined, secrets: readonly ServiceSecret[]): number {
  if (account === undefined) return 1
  const json = {
    ...Object(toJson(ServiceAccountSchema, account)),
    secrets: secrets.map((one) => toJson(ServiceSecretSchema, one)),
  }
  show(cli, json, () => {
    const record = formatRecord(cli.terminal, [
      ["id", account.id],
      ["name", account.name],
      ["status", nameIn(ServiceAccount_StatusSchema, account.status)],
      ["principal", account.principalId],
      ["client id", account.clientId],
      ["proves itself", account.authMethods.map((method) => nameIn(ClientAuthMethodSchema, method)).join(", ")],
      ["is", account.ownedAudiences.join(", ")],
      ["calls", account.allowedAudiences.join(", ")],
      ["scopes", account.scopes.join(", ")],
      ["by default", account.defaultScopes.join(", ")],
    ])
    if (secrets.length === 0) return record
    const rows = secrets.map((one) => [
      one.id,
      `…${one.hint}`,
      nameIn(ServiceSecret_StatusSchema, one.status),
      timeText(one.expiresAt),
    ])
    return `${record}\n\n${formatTable(cli.terminal, ["SECRET", "HINT", "STATUS", "EXPIRES"], rows)}`
  })
  return 0
}
