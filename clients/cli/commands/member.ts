import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import {
  type Membership,
  Membership_Status,
  Membership_StatusSchema,
  MembershipSchema,
} from "@signet/proto/auth/v1/records"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect, limitOption } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { withPrincipal } from "../people.ts"
import { inApp, inContext, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, showOne, type View } from "../records.ts"
import { nameIn, timeText, valueIn } from "../shape.ts"

const calls = AppAuthService.method
const argument = ["<membership>", "Its id: mem_…"] as const
const example = "mem_06enrrq000edm6xx1hjq8s9c9g"
const statuses = ["invited", "requested", "active", "suspended", "removed", "declined", "rejected", "expired"]

const view: View<typeof MembershipSchema> = {
  schema: MembershipSchema,
  fields: [
    ["id", ({ id }) => id],
    ["principal", ({ principalId }) => principalId],
    ["status", ({ status }) => nameIn(Membership_StatusSchema, status)],
    ["tenant", ({ tenantId }) => tenantId],
    ["context", ({ contextId }) => contextId, "alone"],
    ["name", ({ profile }) => profile?.name],
    ["scopes", ({ scopes }) => scopes.join(",")],
    ["since", ({ createdAt }) => timeText(createdAt), "alone"],
  ],
}

interface Scoped extends PlaceOptions {
  readonly scope?: readonly string[]
}

const scopeOption = (): Option =>
  new Option("--scope <key...>", "Scopes in addition to the app's default scopes.").argParser(collect)

export function memberCommand(cli: Cli, run: Run): Command {
  const shown = (_: unknown, { membership }: { membership?: Membership | undefined }) => showOne(cli, view, membership)
  const add = examples(
    inContext(new Command("add"))
      .description("Add a member to an app, a tenant or a context.")
      .argument("<who>", "The principal's id (prn_…), or a verified email address.")
      .addOption(scopeOption())
      .action(
        run(async (who: string, { scope = [], ...options }: Scoped) => {
          const place = await placeOf(cli, options)
          return withPrincipal(cli, who, (principalId) =>
            callAs(cli, calls.createMembership, { ...place, principalId, scopes: [...scope] }, shown),
          )
        }),
      ),
    [
      "signet member add prn_06enrrq000edm6xx1hjq8s9c9g --tenant ten_06enrrq000edm6xx1hjq8s9c9g",
      "signet member add ada@example.com --scope garden.weed",
    ],
  )
  const list = examples(
    inContext(new Command("list"))
      .alias("ls")
      .description("List memberships, newest first.")
      .addOption(new Option("--status <name>", "Only these.").choices(statuses))
      .option("--principal <id>", "Only results of this principal.")
      .addOption(limitOption())
      .action(run((options: ListOptions) => listThem(cli, options))),
    ["signet member list", "signet member list --status requested"],
  )
  const get = examples(
    inApp(new Command("get"))
      .description("Show a membership.")
      .argument(...argument)
      .action(
        run(async (membershipId: string, options: PlaceOptions) => {
          const { appId } = await placeOf(cli, options)
          return callAs(cli, calls.getMembership, { appId, membershipId }, shown)
        }),
      ),
    [`signet member get ${example}`],
  )
  const update = examples(
    inApp(new Command("update"))
      .description("Change a member's scopes or display name.")
      .argument(...argument)
      .addOption(scopeOption())
      .option("--no-scope", "Remove all scopes but the app's default scopes.")
      .option("--name <text>", "Display name in the app.")
      .action(run((id: string, options: UpdateOptions) => updateOne(cli, id, options, shown))),
    [`signet member update ${example} --scope garden.weed,garden.look`],
  )
  const moves = moveCommands(cli, run, { path: "signet member", argument, example, isInApp: true }, [
    {
      name: "suspend",
      description: "Suspend a member, reversibly.",
      warning: "the member's sessions there end.",
      change: (membershipId, appId) => callAs(cli, calls.suspendMembership, { appId, membershipId }, shown),
    },
    {
      name: "resume",
      description: "Resume a suspended membership.",
      change: (membershipId, appId) => callAs(cli, calls.resumeMembership, { appId, membershipId }, shown),
    },
    {
      name: "remove",
      description: "Remove a member, with the grants, tokens and memberships inside.",
      warning: "is removed permanently, with grants, tokens and memberships inside.",
      change: (membershipId, appId) => callAs(cli, calls.removeMembership, { appId, membershipId }, shown),
    },
    {
      name: "approve",
      description: "Approve a membership request.",
      change: (membershipId, appId) => callAs(cli, calls.approveMembership, { appId, membershipId }, shown),
    },
    {
      name: "reject",
      description: "Reject a membership request.",
      change: (membershipId, appId) => callAs(cli, calls.rejectMembership, { appId, membershipId }, shown),
    },
  ])
  const command = new Command("member").description("Memberships in an app, a tenant or a context.")
  for (const one of [add, list, get, update, ...moves]) command.addCommand(one)
  return command
}

interface ListOptions extends PlaceOptions {
  readonly status?: string
  readonly principal?: string
  readonly limit: number
}

async function listThem(cli: Cli, { status, principal = "", limit, ...options }: ListOptions): Promise<number> {
  const place = await placeOf(cli, options)
  const is = valueIn(Membership_Status, status ?? "status-unspecified") ?? Membership_Status.STATUS_UNSPECIFIED
  return listAll(cli, calls.listMemberships, limit, {
    view,
    request: (page) => ({ ...place, ...page, status: is, principalId: principal }),
    items: ({ memberships }) => memberships,
    next: ({ nextPageToken }) => nextPageToken,
  })
}

interface UpdateOptions extends PlaceOptions {
  readonly scope?: readonly string[] | false
  readonly name?: string
}

async function updateOne(
  cli: Cli,
  membershipId: string,
  { scope, name, ...options }: UpdateOptions,
  shown: (_: unknown, answer: { membership?: Membership | undefined }) => number,
): Promise<number> {
  const paths = [...(scope === undefined ? [] : ["scopes"]), ...(name === undefined ? [] : ["profile.name"])]
  if (paths.length === 0) throw usage("name what to change: --scope, --no-scope or --name")
  const { appId } = await placeOf(cli, options)
  const membership = { ...(scope ? { scopes: [...scope] } : {}), ...(name === undefined ? {} : { profile: { name } }) }
  const request = { appId, membershipId, membership, updateMask: { paths } }
  return callAs(cli, calls.updateMembership, request, shown)
}
