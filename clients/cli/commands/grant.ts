import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type Grant, Grant_StatusSchema, GrantSchema } from "@signet/proto/auth/v1/grants"
import { Command } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { limitOption, parseCount } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { withPrincipal } from "../people.ts"
import { inApp, inContext, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, showOne, type View } from "../records.ts"
import { nameIn, timeText } from "../shape.ts"

const calls = AppAuthService.method
const argument = ["<grant>", "Its id: grt_…"] as const
const example = "grt_06enrrq000edm6xx1hjq8s9c9g"
const dayMs = 86_400_000

const view: View<typeof GrantSchema> = {
  schema: GrantSchema,
  fields: [
    ["id", ({ id }) => id],
    ["principal", ({ principalId }) => principalId],
    ["role", ({ roleId }) => roleId],
    ["status", ({ status }) => nameIn(Grant_StatusSchema, status)],
    ["at", ({ tenantId, contextId, resource }) => [tenantId, contextId, resource?.id].filter(Boolean).join(" ")],
    ["expires", ({ expiresAt }) => timeText(expiresAt)],
    ["by", ({ grantedBy }) => grantedBy, "alone"],
    ["reason", ({ reason }) => reason, "alone"],
  ],
}

interface CreateOptions extends PlaceOptions {
  readonly role: string
  readonly resource?: string
  readonly days?: number
  readonly reason?: string
}

export function grantCommand(cli: Cli, run: Run): Command {
  const shown = (_: unknown, { grant }: { grant?: Grant | undefined }) => showOne(cli, view, grant)
  const create = examples(
    inContext(new Command("create"))
      .description("Grant a role in an app, a tenant, a context or at a resource.")
      .argument("<who>", "The principal's id (prn_…), or a verified email address.")
      .requiredOption("--role <id>", "Role id: rol_…")
      .option("--resource <type/id>", "Only for one resource, TYPE/ID as its service names it.")
      .option("--days <n>", "Days until the grant expires. Default: never.", (text) => parseCount(text, 3650))
      .option("--reason <text>", "Reason, written to the audit log.")
      .action(
        run(async (who: string, { role: roleId, resource, days, reason = "", ...options }: CreateOptions) => {
          const place = await placeOf(cli, options)
          const more = {
            ...(resource !== undefined && { resource: parseResource(resource) }),
            ...(days !== undefined && { expiresAt: timestampFromMs(cli.nowMs() + days * dayMs) }),
          }
          return withPrincipal(cli, who, (principalId) =>
            callAs(cli, calls.createGrant, { ...place, ...more, principalId, roleId, reason }, shown),
          )
        }),
      ),
    [
      "signet grant create ada@example.com --role rol_06enrrq000edm6xx1hjq8s9c9g --reason spring",
      "signet grant create prn_06enrrq000edm6xx1hjq8s9c9g --role rol_06enrrq000edm6xx1hjq8s9c9g --resource bed/roses --days 30",
    ],
  )
  const list = examples(
    inContext(new Command("list"))
      .alias("ls")
      .description("List grants, newest first.")
      .option("--principal <id>", "Only results of this principal.")
      .option("--role <id>", "Only grants of this role.")
      .addOption(limitOption())
      .action(
        run(async ({ limit, principal = "", role = "", ...options }: ListOptions) => {
          const place = await placeOf(cli, options)
          return listAll(cli, calls.listGrants, limit, {
            view,
            request: (page) => ({ ...place, ...page, principalId: principal, roleId: role }),
            items: ({ grants }) => grants,
            next: ({ nextPageToken }) => nextPageToken,
          })
        }),
      ),
    ["signet grant list --principal prn_06enrrq000edm6xx1hjq8s9c9g"],
  )
  const get = examples(
    inApp(new Command("get"))
      .description("Show a grant.")
      .argument(...argument)
      .action(
        run(async (grantId: string, options: PlaceOptions) => {
          const { appId } = await placeOf(cli, options)
          return callAs(cli, calls.getGrant, { appId, grantId }, shown)
        }),
      ),
    [`signet grant get ${example}`],
  )
  const moves = moveCommands(cli, run, { path: "signet grant", argument, example, isInApp: true }, [
    {
      name: "revoke",
      description: "Revoke a grant. Older tokens are stale at once.",
      change: (grantId, appId) => callAs(cli, calls.revokeGrant, { appId, grantId }, shown),
    },
  ])
  const command = new Command("grant").description("Grants of roles to principals.")
  for (const one of [create, list, get, ...moves]) command.addCommand(one)
  return command
}

interface ListOptions extends PlaceOptions {
  readonly principal?: string
  readonly role?: string
  readonly limit: number
}

function parseResource(text: string): { type: string; id: string } {
  const at = text.indexOf("/")
  if (at > 0 && at < text.length - 1) return { type: text.slice(0, at), id: text.slice(at + 1) }
  throw usage(`--resource ${text}: use TYPE/ID, such as bed/roses`)
}
