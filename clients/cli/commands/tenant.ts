import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatusSchema } from "@signet/proto/auth/v1/apps"
import { type Tenant, TenantSchema } from "@signet/proto/auth/v1/tenants"
import { Command } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { limitOption } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { inApp, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, showOne, type View } from "../records.ts"
import { nameIn, timeText } from "../shape.ts"

const calls = AppAuthService.method
const argument = ["<tenant>", "Its id: ten_…"] as const
const example = "ten_06enrrq000edm6xx1hjq8s9c9g"

const view: View<typeof TenantSchema> = {
  schema: TenantSchema,
  fields: [
    ["id", ({ id }) => id],
    ["name", ({ name }) => name],
    ["status", ({ status }) => nameIn(PlaceStatusSchema, status)],
    ["app", ({ appId }) => appId, "alone"],
    ["created", ({ createdAt }) => timeText(createdAt)],
  ],
}

export function tenantCommand(cli: Cli, run: Run): Command {
  const shown = (_: unknown, { tenant }: { tenant?: Tenant | undefined }) => showOne(cli, view, tenant)
  const create = examples(
    inApp(new Command("create"))
      .description("Create a tenant in an app.")
      .argument("<name>", "Display name.")
      .action(
        run(async (name: string, options: PlaceOptions) => {
          const { appId } = await placeOf(cli, options)
          return callAs(cli, calls.createTenant, { appId, tenant: { name } }, shown)
        }),
      ),
    ["signet tenant create Kew"],
  )
  const list = examples(
    inApp(new Command("list"))
      .alias("ls")
      .description("List the tenants of an app, newest first.")
      .addOption(limitOption())
      .action(
        run(async ({ limit, ...options }: PlaceOptions & { limit: number }) => {
          const { appId } = await placeOf(cli, options)
          return listAll(cli, calls.listTenants, limit, {
            view,
            request: (page) => ({ appId, ...page }),
            items: ({ tenants }) => tenants,
            next: ({ nextPageToken }) => nextPageToken,
          })
        }),
      ),
    ["signet tenant list"],
  )
  const get = examples(
    inApp(new Command("get"))
      .description("Show a tenant.")
      .argument(...argument)
      .action(
        run(async (tenantId: string, options: PlaceOptions) => {
          const { appId } = await placeOf(cli, options)
          return callAs(cli, calls.getTenant, { appId, tenantId }, shown)
        }),
      ),
    [`signet tenant get ${example}`],
  )
  const update = examples(
    inApp(new Command("update"))
      .description("Rename a tenant.")
      .argument(...argument)
      .requiredOption("--name <text>", "Display name.")
      .action(
        run(async (tenantId: string, { name, ...options }: PlaceOptions & { name: string }) => {
          const { appId } = await placeOf(cli, options)
          return callAs(cli, calls.updateTenant, { appId, tenantId, tenant: { name } }, shown)
        }),
      ),
    [`signet tenant update ${example} --name 'Kew Gardens'`],
  )
  const moves = moveCommands(cli, run, { path: "signet tenant", argument, example, isInApp: true }, [
    {
      name: "suspend",
      description: "Suspend a tenant, reversibly.",
      warning: "calls in it are rejected, and its sessions end.",
      change: (tenantId, appId) => callAs(cli, calls.suspendTenant, { appId, tenantId }, shown),
    },
    {
      name: "resume",
      description: "Resume a suspended tenant.",
      change: (tenantId, appId) => callAs(cli, calls.resumeTenant, { appId, tenantId }, shown),
    },
    {
      name: "archive",
      description: "Archive a tenant permanently.",
      warning: "is archived permanently, and its sessions end.",
      change: (tenantId, appId) => callAs(cli, calls.archiveTenant, { appId, tenantId }, shown),
    },
  ])
  const command = new Command("tenant").description("Tenants of an app.")
  for (const one of [create, list, get, update, ...moves]) command.addCommand(one)
  return command
}
