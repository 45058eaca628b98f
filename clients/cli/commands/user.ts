import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { GetPrincipalResponseSchema } from "@signet/proto/auth/v1/principals"
import {
  Identity_StatusSchema,
  type Principal,
  Principal_StatusSchema,
  PrincipalSchema,
  Provider,
  ProviderSchema,
} from "@signet/proto/auth/v1/records"
import { type FoundUser, FoundUserSchema } from "@signet/proto/auth/v1/users"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { confirm, withYes } from "../confirm.ts"
import { usage } from "../failure.ts"
import { limitOption, parseCount } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { listAll, showAll, showOne, type View } from "../records.ts"
import { nameIn, timeText, valueIn } from "../shape.ts"

const calls = AppAuthService.method

const foundView: View<typeof FoundUserSchema> = {
  schema: FoundUserSchema,
  fields: [
    ["principal", ({ principal }) => principal?.id],
    ["status", ({ principal }) => nameIn(Principal_StatusSchema, principal?.status ?? 0)],
    ["email", ({ identity }) => identity?.primaryEmail],
    ["memberships", ({ memberships }) => memberships.map(({ tenantId, appId }) => tenantId || appId).join(",")],
    ["signs in with", (user) => accountsOf(user)],
  ],
}

const accountsOf = ({ providerAccounts }: Pick<FoundUser, "providerAccounts">): string =>
  providerAccounts.map(({ provider, subject }) => `${nameIn(ProviderSchema, provider)} ${subject}`).join(", ")

const principalView: View<typeof GetPrincipalResponseSchema> = {
  schema: GetPrincipalResponseSchema,
  fields: [
    ["principal", ({ principal }) => principal?.id],
    ["status", ({ principal }) => nameIn(Principal_StatusSchema, principal?.status ?? 0)],
    ["locked until", ({ principal }) => timeText(principal?.lockExpiresAt)],
    ["lock reason", ({ principal }) => principal?.lockReason],
    ["email", ({ identity }) => identity?.primaryEmail],
    ["identity", ({ identity }) => identity?.id],
    ["identity is", ({ identity }) => identity && nameIn(Identity_StatusSchema, identity.status)],
    ["signs in with", (user) => accountsOf(user)],
  ],
}

const stateView: View<typeof PrincipalSchema> = {
  schema: PrincipalSchema,
  fields: [
    ["principal", ({ id }) => id],
    ["status", ({ status }) => nameIn(Principal_StatusSchema, status)],
    ["locked until", ({ lockExpiresAt }) => timeText(lockExpiresAt)],
    ["lock reason", ({ lockReason }) => lockReason],
  ],
}

interface FindOptions {
  readonly app?: string
  readonly provider?: string
  readonly subject?: string
  readonly issuer?: string
}

export function userCommand(cli: Cli, run: Run): Command {
  const find = examples(
    new Command("find")
      .description("Find people by their verified address, or by a provider and its subject. The match is exact.")
      .argument("[email]", "The address.")
      .option(
        "--app <id>",
        "Only members of this app. Default: the app of the sign-in; the installation finds all people.",
      )
      .addOption(new Option("--provider <name>", "Who vouches.").choices(["idp-a", "idp-b", "idp-c"]))
      .option("--subject <id>", "The provider's subject identifier.")
      .option("--issuer <url>", "Only results of this issuer.")
      .action(run((email: string | undefined, options: FindOptions) => findThem(cli, email, options))),
    ["signet user find ada@example.com", "signet user find --provider idp-a --subject 248289761001"],
  )
  const get = examples(
    new Command("get")
      .description("Show a person or a service, for administrators of the installation.")
      .argument("<principal>", "Its id: prn_…")
      .action(
        run((principalId: string) =>
          callAs(cli, calls.getPrincipal, { principalId }, (_, answer) => showOne(cli, principalView, answer)),
        ),
      ),
    ["signet user get prn_06enrrq000edm6xx1hjq8s9c9g"],
  )
  const command = new Command("user")
    .description("Find, lock, suspend and deactivate people.")
    .addCommand(find)
    .addCommand(get)
    .addCommand(lockedCommand(cli, run))
  command.addCommand(lockCommand(cli, run))
  for (const one of movesOf(cli, run)) command.addCommand(one)
  return command
}

function lockedCommand(cli: Cli, run: Run): Command {
  const command = new Command("locked")
    .description("List locked people and services, latest expiry first, for administrators of the installation.")
    .addOption(limitOption())
    .action(
      run(({ limit }: { limit: number }) =>
        listAll(cli, calls.listLockedPrincipals, limit, {
          view: stateView,
          request: (page) => page,
          items: ({ principals }) => principals,
          next: ({ nextPageToken }) => nextPageToken,
        }),
      ),
    )
  return examples(command, ["signet user locked"])
}

interface LockOptions {
  readonly minutes: number
  readonly reason?: string
  readonly yes?: boolean
}

function lockCommand(cli: Cli, run: Run): Command {
  const command = new Command("lock")
    .description("Lock a person or a service in all apps for a time. Sessions are kept, and calls are rejected.")
    .argument("<principal>", "Its id: prn_…")
    .requiredOption("--minutes <n>", "Duration in minutes, up to 30 days.", (text) => parseCount(text, 43_200))
    .option("--reason <text>", "Reason, shown to administrators.")
    .action(
      run(async (principalId: string, { minutes, reason = "", yes }: LockOptions) => {
        await confirm(cli, yes, `${principalId}: locked in all apps for ${minutes} minutes.`)
        const lockExpiresAt = timestampFromMs(cli.nowMs() + minutes * 60_000)
        return callAs(cli, calls.lockPrincipal, { principalId, lockExpiresAt, reason }, (_, { principal }) =>
          showOne(cli, stateView, principal),
        )
      }),
    )
  return examples(withYes(command), [
    "signet user lock prn_06enrrq000edm6xx1hjq8s9c9g --minutes 60 --reason 'lost phone' --yes",
  ])
}

function movesOf(cli: Cli, run: Run): readonly Command[] {
  const shown = (_: unknown, { principal }: { principal?: Principal | undefined }) => showOne(cli, stateView, principal)
  const thing = {
    path: "signet user",
    argument: ["<principal>", "Its id: prn_…"],
    example: "prn_06enrrq000edm6xx1hjq8s9c9g",
    isInApp: false,
  } as const
  return moveCommands(cli, run, thing, [
    {
      name: "suspend",
      description: "Suspend a person or a service in all apps, reversibly.",
      warning: "suspended in all apps, and signed out.",
      change: (principalId) => callAs(cli, calls.suspendPrincipal, { principalId }, shown),
    },
    {
      name: "resume",
      description: "Resume a suspended principal. Revoked sessions stay revoked.",
      change: (principalId) => callAs(cli, calls.resumePrincipal, { principalId }, shown),
    },
    {
      name: "unlock",
      description: "Unlock before the lock expires. Sessions and credentials work again.",
      change: (principalId) => callAs(cli, calls.unlockPrincipal, { principalId }, shown),
    },
    {
      name: "deactivate",
      description: "Deactivate a person or a service in all apps; reversible for 30 days.",
      warning: "deactivated in all apps, permanently after 30 days.",
      change: (principalId) => callAs(cli, calls.deactivatePrincipal, { principalId }, shown),
    },
    {
      name: "reactivate",
      description: "Reactivate a principal within 30 days.",
      change: (principalId) => callAs(cli, calls.reactivatePrincipal, { principalId }, shown),
    },
  ])
}

function findThem(cli: Cli, email: string | undefined, { app = "", provider, subject, issuer = "" }: FindOptions) {
  const isSubject = provider !== undefined && subject !== undefined
  if ((email !== undefined) === isSubject || (provider === undefined) !== (subject === undefined)) {
    throw usage("an email address, or --provider and --subject, is required")
  }
  const by =
    email === undefined
      ? ({
          case: "subject",
          value: { provider: valueIn(Provider, provider ?? ""), subject: subject ?? "", issuer },
        } as const)
      : ({ case: "email", value: email } as const)
  return callAs(cli, calls.findUsers, { appId: app, by }, (_, { users }) => showAll(cli, foundView, users))
}
