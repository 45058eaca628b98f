import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PermissionSchema } from "@signet/proto/auth/v1/roles"
import { Command } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { limitOption } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { inApp, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, showOne, type View } from "../records.ts"
import { timeText } from "../shape.ts"

const calls = AppAuthService.method

const view: View<typeof PermissionSchema> = {
  schema: PermissionSchema,
  fields: [
    ["key", ({ key }) => key],
    ["description", ({ description }) => description],
    ["created", ({ createdAt }) => timeText(createdAt)],
  ],
}

export function permissionCommand(cli: Cli, run: Run): Command {
  const create = examples(
    inApp(new Command("create"))
      .description("Create a permission in an app, for its roles.")
      .argument("<key>", "Permission key, such as garden.roses.prune.")
      .option("--description <text>", "For administrators.")
      .action(
        run(async (key: string, { description = "", ...options }: PlaceOptions & { description?: string }) => {
          const { appId } = await placeOf(cli, options)
          const request = { appId, permission: { key, description } }
          return callAs(cli, calls.createPermission, request, (_, { permission }) => showOne(cli, view, permission))
        }),
      ),
    ["signet permission create garden.roses.prune --description 'Cuts roses.'"],
  )
  const list = examples(
    inApp(new Command("list"))
      .alias("ls")
      .description("List the permissions of an app.")
      .addOption(limitOption())
      .action(
        run(async ({ limit, ...options }: PlaceOptions & { limit: number }) => {
          const { appId } = await placeOf(cli, options)
          return listAll(cli, calls.listPermissions, limit, {
            view,
            request: (page) => ({ appId, ...page }),
            items: ({ permissions }) => permissions,
            next: ({ nextPageToken }) => nextPageToken,
          })
        }),
      ),
    ["signet permission list"],
  )
  const thing = {
    path: "signet permission",
    argument: ["<key>", "Permission key, such as garden.roses.prune."],
    example: "garden.roses.prune",
    isInApp: true,
  } as const
  const moves = moveCommands(cli, run, thing, [
    {
      name: "delete",
      description: "Delete a permission that no role and no scope uses.",
      warning: "is deleted.",
      change: (permissionKey, appId) =>
        callAs(cli, calls.deletePermission, { appId, permissionKey }, () => {
          show(cli, { key: permissionKey, deleted: true }, () => `${permissionKey} is deleted.`)
          return 0
        }),
    },
  ])
  const command = new Command("permission").description("Permissions of an app.")
  for (const one of [create, list, ...moves]) command.addCommand(one)
  return command
}
