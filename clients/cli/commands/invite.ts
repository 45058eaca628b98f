import { toJson } from "@bufbuild/protobuf"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Invitation_StatusSchema, InvitationSchema } from "@signet/proto/auth/v1/memberships"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, note, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { collect, limitOption, parseCount } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { inContext, inTenant, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, showOne, type View } from "../records.ts"
import { nameIn, timeText } from "../shape.ts"

const calls = AppAuthService.method

const view: View<typeof InvitationSchema> = {
  schema: InvitationSchema,
  fields: [
    ["id", ({ id }) => id],
    ["status", ({ status }) => nameIn(Invitation_StatusSchema, status)],
    ["tenant", ({ tenantId }) => tenantId],
    ["for", ({ principalId }) => principalId],
    ["scopes", ({ scopes }) => scopes.join(",")],
    ["by", ({ invitedBy }) => invitedBy, "alone"],
    ["expires", ({ expiresAt }) => timeText(expiresAt)],
  ],
}

interface CreateOptions extends PlaceOptions {
  readonly scope?: readonly string[]
  readonly principal?: string
  readonly hours?: number
}

export function inviteCommand(cli: Cli, run: Run): Command {
  const create = examples(
    inContext(new Command("create"))
      .description("Invite a person. The code is shown only now; signing in with it creates the membership.")
      .addOption(new Option("--scope <key...>", "Scopes in addition to the app's default scopes.").argParser(collect))
      .option("--principal <id>", "Principal that can accept it (prn_…). Default: any bearer of the code.")
      .option("--hours <n>", "Hours until it expires: 1 to 720.", (text) => parseCount(text, 720))
      .action(
        run(async ({ scope = [], principal = "", hours = 0, ...options }: CreateOptions) => {
          const place = await placeOf(cli, options)
          const request = { ...place, scopes: [...scope], principalId: principal, expiresInHours: hours }
          return callAs(cli, calls.inviteMember, request, (_, { invitation, code }) => {
            show(cli, { code, invitation: invitation && toJson(InvitationSchema, invitation) }, () => code)
            note(cli, `It expires on ${timeText(invitation?.expiresAt)} and is not shown again.`)
            return 0
          })
        }),
      ),
    ["signet invite create --tenant ten_06enrrq000edm6xx1hjq8s9c9g --scope garden.weed --hours 72"],
  )
  const list = examples(
    inTenant(new Command("list"))
      .alias("ls")
      .description("List invitations, newest first, without their codes.")
      .addOption(limitOption())
      .action(
        run(async ({ limit, ...options }: PlaceOptions & { limit: number }) => {
          const { appId, tenantId } = await placeOf(cli, options)
          return listAll(cli, calls.listInvitations, limit, {
            view,
            request: (page) => ({ appId, tenantId, ...page }),
            items: ({ invitations }) => invitations,
            next: ({ nextPageToken }) => nextPageToken,
          })
        }),
      ),
    ["signet invite list"],
  )
  const thing = {
    path: "signet invite",
    argument: ["<invitation>", "Its id: inv_…"],
    example: "inv_06enrrq000edm6xx1hjq8s9c9g",
    isInApp: true,
  } as const
  const moves = moveCommands(cli, run, thing, [
    {
      name: "revoke",
      description: "Revoke an invitation. Its code stops working.",
      change: (invitationId, appId) =>
        callAs(cli, calls.revokeInvitation, { appId, invitationId }, (_, { invitation }) =>
          showOne(cli, view, invitation),
        ),
    },
  ])
  const command = new Command("invite").description("Invitations to an app, a tenant or a context.")
  for (const one of [create, list, ...moves]) command.addCommand(one)
  return command
}
