import { toJson } from "@bufbuild/protobuf"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type App, AppSchema, PlaceStatusSchema } from "@signet/proto/auth/v1/apps"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect, limitOption, upTo } from "../lists.ts"
import { appIdOf } from "../own-app.ts"
import { nameIn, timeText } from "../shape.ts"
import { formatRecord, formatTable } from "../table.ts"

const { createApp, getApp, listApps } = AppAuthService.method

interface CreateOptions {
  audience?: readonly string[]
  scope?: readonly string[]
  origin?: readonly string[]
  signup?: boolean
}

export function appCommand(cli: Cli, run: Run): Command {
  const create = examples(
    new Command("create")
      .description("Make an app, for administrators of the installation.")
      .argument("<name>", "What people know it by.")
      .addOption(new Option("--audience <name...>", "A service that its tokens may be for.").argParser(collect))
      .addOption(
        new Option(
          "--scope <key=audience...>",
          "A scope of that service; a + at the end gives it to every member.",
        ).argParser(collect),
      )
      .addOption(new Option("--origin <url...>", "Where its pages are.").argParser(collect))
      .option("--no-signup", "Nobody whom the app does not know signs in.")
      .action(run((name: string, options: CreateOptions) => createOne(cli, name, options))),
    [
      "signet app create Garden",
      "signet app create Garden --audience svc-garden --scope garden.look=svc-garden+ --scope garden.weed=svc-garden",
    ],
  )
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List the apps that this sign-in administers.")
      .addOption(limitOption())
      .action(run(({ limit }: { limit: number }) => listThem(cli, limit))),
    ["signet app list", "signet app list --json"],
  )
  const get = examples(
    new Command("get")
      .description("Show an app.")
      .argument("[app]", "Its id; the app that is signed in to when it is left out.")
      .action(run((app: string | undefined) => getOne(cli, app))),
    ["signet app get", "signet app get app_06enrrq000edm6xx1hjq8s9c9g"],
  )
  return new Command("app").description("Make and see apps.").addCommand(create).addCommand(list).addCommand(get)
}

function createOne(cli: Cli, name: string, { audience = [], scope = [], origin = [], signup = true }: CreateOptions) {
  const app = {
    name,
    audiences: [...audience],
    scopes: scope.map(parseScope),
    settings: { signupEnabled: signup, allowedOrigins: [...origin] },
  }
  return callAs(cli, createApp, { app }, (_, answer) => shown(cli, answer.app))
}

function parseScope(text: string) {
  const match = /^([^=]+)=([^=]+?)(\+?)$/.exec(text)
  if (match === null) throw usage(`--scope ${text}: it is KEY=AUDIENCE, with a + at the end for every member`)
  const [, key = "", audience = "", plus] = match
  return { key, audience, isDefault: plus === "+" }
}

async function getOne(cli: Cli, id: string | undefined) {
  return callAs(cli, getApp, { appId: await appIdOf(cli, id) }, (_, answer) => shown(cli, answer.app))
}

function listThem(cli: Cli, limit: number) {
  return callAs(cli, listApps, { pageSize: Math.min(limit, 200) }, async (api, first) => {
    const apps = await upTo(limit, async ({ pageSize, pageToken }) => {
      const page = pageToken === "" ? first : await api.call(listApps, { pageSize, pageToken })
      return { items: page.apps, nextPageToken: page.nextPageToken }
    })
    show(
      cli,
      apps.map((app) => toJson(AppSchema, app)),
      () =>
        formatTable(
          cli.terminal,
          ["ID", "NAME", "STATUS", "AUDIENCES", "CREATED"],
          apps.map((app) => [
            app.id,
            app.name,
            nameIn(PlaceStatusSchema, app.status),
            app.audiences.join(","),
            timeText(app.createdAt),
          ]),
        ),
    )
    return 0
  })
}

function shown(cli: Cli, app: App | undefined): number {
  if (app === undefined) return 1
  show(cli, toJson(AppSchema, app), () =>
    formatRecord(cli.terminal, [
      ["id", app.id],
      ["name", app.name],
      ["status", nameIn(PlaceStatusSchema, app.status)],
      ["audiences", app.audiences.join(", ")],
      ["scopes", app.scopes.map(({ key, isDefault }) => (isDefault ? `${key}+` : key)).join(", ")],
      ["origins", app.settings?.allowedOrigins.join(", ")],
      ["sign-up", app.settings?.signupEnabled ? "open" : "closed"],
      ["created", timeText(app.createdAt)],
    ]),
  )
  return 0
}
