import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { GrantLevel, GrantLevelSchema, type Role, Role_StatusSchema, RoleSchema } from "@signet/proto/auth/v1/roles"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect, limitOption } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { inApp, inTenant, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, showOne, type View } from "../records.ts"
import { nameIn, timeText, valueIn } from "../shape.ts"

const calls = AppAuthService.method
const argument = ["<role>", "Its id: rol_…"] as const
const example = "rol_06enrrq000edm6xx1hjq8s9c9g"
const levels = ["app", "tenant", "context", "resource"]

const view: View<typeof RoleSchema> = {
  schema: RoleSchema,
  fields: [
    ["id", ({ id }) => id],
    ["key", ({ key }) => key],
    ["status", ({ status }) => nameIn(Role_StatusSchema, status)],
    ["tenant", ({ tenantId }) => tenantId],
    ["permissions", ({ permissions }) => permissions.join(",")],
    ["inheritable", ({ inheritable }) => (inheritable ? "yes" : "no"), "alone"],
    ["granted at", ({ assignableAt }) => assignableAt.map((level) => nameIn(GrantLevelSchema, level)).join(",")],
    ["description", ({ description }) => description, "alone"],
    ["created", ({ createdAt }) => timeText(createdAt), "alone"],
  ],
}

interface RoleOptions extends PlaceOptions {
  readonly permission?: readonly string[]
  readonly at?: readonly string[]
  readonly inheritable?: boolean
  readonly description?: string
}

const withContents = (command: Command): Command =>
  command
    .addOption(new Option("--permission <key...>", "Permission of the role.").argParser(collect))
    .addOption(
      new Option("--at <level...>", `Level at which it can be granted: ${levels.join(", ")}.`).argParser(collect),
    )
    .option("--inheritable", "A grant applies to the nodes below, too.")
    .option("--no-inheritable", "A grant applies only to its own node.")
    .option("--description <text>", "For administrators.")

export function roleCommand(cli: Cli, run: Run): Command {
  const shown = (_: unknown, { role }: { role?: Role | undefined }) => showOne(cli, view, role)
  const create = examples(
    withContents(inTenant(new Command("create")))
      .description("Create a role in an app, or in one of its tenants.")
      .argument("<key>", "Role key.")
      .action(
        run(async (key: string, options: RoleOptions) => {
          const { appId, tenantId } = await placeOf(cli, options)
          const { inheritable = false } = options
          return callAs(
            cli,
            calls.createRole,
            { appId, role: { ...contentsOf(options), key, tenantId, inheritable } },
            shown,
          )
        }),
      ),
    ["signet role create gardener --permission garden.roses.prune --inheritable --at tenant,context"],
  )
  const list = examples(
    inTenant(new Command("list"))
      .alias("ls")
      .description("List roles, newest first.")
      .addOption(limitOption())
      .action(
        run(async ({ limit, ...options }: PlaceOptions & { limit: number }) => {
          const { appId, tenantId } = await placeOf(cli, options)
          return listAll(cli, calls.listRoles, limit, {
            view,
            request: (page) => ({ appId, tenantId, ...page }),
            items: ({ roles }) => roles,
            next: ({ nextPageToken }) => nextPageToken,
          })
        }),
      ),
    ["signet role list"],
  )
  const get = examples(
    inApp(new Command("get"))
      .description("Show a role.")
      .argument(...argument)
      .action(
        run(async (roleId: string, options: PlaceOptions) => {
          const { appId } = await placeOf(cli, options)
          return callAs(cli, calls.getRole, { appId, roleId }, shown)
        }),
      ),
    [`signet role get ${example}`],
  )
  const update = examples(
    withContents(inApp(new Command("update")))
      .description("Change a role. Each given option replaces the stored value.")
      .argument(...argument)
      .action(
        run(async (roleId: string, options: RoleOptions) => {
          const role = contentsOf(options)
          const paths = Object.keys(role).map((name) => (name === "assignableAt" ? "assignable_at" : name))
          if (paths.length === 0) throw usage("no option given: name what to change", "See: signet role update --help")
          const { appId } = await placeOf(cli, options)
          return callAs(cli, calls.updateRole, { appId, roleId, role, updateMask: { paths } }, shown)
        }),
      ),
    [`signet role update ${example} --permission garden.roses.prune,garden.roses.plant`],
  )
  const moves = moveCommands(cli, run, { path: "signet role", argument, example, isInApp: true }, [
    {
      name: "archive",
      description: "Archive a role and revoke its grants.",
      warning: "is archived permanently, and its grants are revoked.",
      change: (roleId, appId) => callAs(cli, calls.archiveRole, { appId, roleId }, shown),
    },
  ])
  const command = new Command("role").description("Roles and their permissions.")
  for (const one of [create, list, get, update, ...moves]) command.addCommand(one)
  return command
}

/** The role's fields that the options set. */
function contentsOf({ permission, at, inheritable, description }: RoleOptions) {
  return {
    ...(permission && { permissions: [...permission] }),
    ...(at && { assignableAt: at.map(parseLevel) }),
    ...(inheritable !== undefined && { inheritable }),
    ...(description !== undefined && { description }),
  }
}

function parseLevel(text: string): GrantLevel {
  const level = levels.includes(text) ? valueIn(GrantLevel, text) : undefined
  if (level === undefined) throw usage(`--at ${text}: use one of ${levels.join(", ")}`)
  return level
}
