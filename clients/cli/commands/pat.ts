import { toJson } from "@bufbuild/protobuf"
import { Pat_StatusSchema, PatSchema, PatService } from "@signet/proto/auth/v1/pat_service"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, note, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { CommandError, exitCodes } from "../failure.ts"
import { collect, collectPages, limitOption, parseCount } from "../lists.ts"
import { homeOf, readProfiles } from "../profiles.ts"
import { nameIn, timeText } from "../shape.ts"
import { formatTable } from "../table.ts"

const { createPat, listPats, revokePat } = PatService.method

interface CreateOptions {
  app?: string
  name: string
  audience: readonly string[]
  scope: readonly string[]
  days?: number
}

export function patCommand(cli: Cli, run: Run): Command {
  const create = examples(
    new Command("create")
      .description("Create a personal access token for a program. It is shown only now.")
      .requiredOption("--name <text>", "Name of your choice.")
      .option("--app <id>", "App of the token. Default: the app of the sign-in. Requires a sign-in to that app.")
      .addOption(
        new Option("--audience <name...>", "Audience that it can be exchanged for.")
          .argParser(collect)
          .makeOptionMandatory(),
      )
      .addOption(new Option("--scope <key...>", "Scope for these audiences.").argParser(collect).makeOptionMandatory())
      .option("--days <n>", "Days until it expires, at most 365. Default: 90.", (text) => parseCount(text, 365))
      .action(run((options: CreateOptions) => createOne(cli, options))),
    [
      "signet pat create --name laptop --audience svc-notes --scope notes.read",
      "signet pat create --name ci --app app_06enrrq000edm6xx1hjq8s9c9g --audience svc-notes --scope notes.read",
      "signet pat create --name ci --audience svc-notes --scope notes.read,notes.write --days 7 --json",
    ],
  )
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List your personal access tokens, newest first, including expired and revoked ones.")
      .addOption(limitOption())
      .action(run(({ limit }: { limit: number }) => listThem(cli, limit))),
    ["signet pat list"],
  )
  const revoke = examples(
    new Command("revoke")
      .description("Revoke a personal access token and the access tokens issued from it.")
      .argument("<pat>", "Its id: pat_…")
      .action(
        run((patId: string) =>
          callAs(cli, revokePat, { patId }, () => {
            show(cli, { id: patId, status: "REVOKED" }, () => `${patId} is revoked.`)
            return 0
          }),
        ),
      ),
    ["signet pat revoke pat_06enrrq000edm6xx1hjq8s9c9g"],
  )
  return new Command("pat")
    .description("Personal access tokens, for your programs.")
    .addCommand(create)
    .addCommand(list)
    .addCommand(revoke)
}

function createOne(cli: Cli, { app, name, audience, scope, days = 0 }: CreateOptions) {
  if (app !== undefined) useSignInOf(cli, app)
  const request = { name, allowedAudiences: [...audience], scopes: [...scope], expiresInDays: days }
  return callAs(cli, createPat, request, (_, { token, pat }) => {
    show(cli, { token, pat: pat && toJson(PatSchema, pat) }, () => token)
    note(cli, `It expires on ${timeText(pat?.expiresAt)} and is not shown again.`)
    return 0
  })
}

/**
 * A token belongs to the app of its owner's sign-in: uses another profile that is signed in to that app, if there is
 * one.
 */
function useSignInOf(cli: Cli, appId: string): void {
  const { name, server, appId: current } = profileOf(cli)
  if (current === appId) return
  const { all } = readProfiles(homeOf(cli.env))
  const other = [...all].find(([, one]) => one.appId === appId && one.server === server && one.signIn === "session")
  if (other === undefined) {
    throw new CommandError("NOT_SIGNED_IN", exitCodes.unauthenticated, `you are not signed in to ${appId}`, {
      hint: `Profile ${name} is for ${current ?? "no app"}. Sign in to the app: signet profile add NAME --server ${server} --app ${appId}, then signet login`,
    })
  }
  cli.options.profile = other[0]
}

function listThem(cli: Cli, limit: number) {
  return callAs(cli, listPats, { pageSize: Math.min(limit, 200) }, async (api, first) => {
    const pats = await collectPages(limit, async ({ pageSize, pageToken }) => {
      const page = pageToken === "" ? first : await api.call(listPats, { pageSize, pageToken })
      return { items: page.pats, nextPageToken: page.nextPageToken }
    })
    show(
      cli,
      pats.map((pat) => toJson(PatSchema, pat)),
      () =>
        formatTable(
          cli.terminal,
          ["ID", "NAME", "STATUS", "AUDIENCES", "SCOPES", "EXPIRES", "LAST USED"],
          pats.map((pat) => [
            pat.id,
            pat.name,
            nameIn(Pat_StatusSchema, pat.status),
            pat.allowedAudiences.join(","),
            pat.scopes.join(","),
            timeText(pat.expiresAt),
            timeText(pat.lastUsedAt),
          ]),
        ),
    )
    return 0
  })
}
