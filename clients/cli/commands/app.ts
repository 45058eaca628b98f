import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type App, AppSchema, PlaceStatusSchema } from "@signet/proto/auth/v1/apps"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect, limitOption } from "../lists.ts"
import { moveCommands } from "../move.ts"
import { placeOf } from "../place.ts"
import { listAll, showOne, type View } from "../records.ts"
import { nameIn, timeText } from "../shape.ts"
import { appUpdateCommand } from "./app-update.ts"

const { createApp, getApp, listApps, suspendApp, resumeApp, archiveApp } = AppAuthService.method

interface CreateOptions {
  audience?: readonly string[]
  scope?: readonly string[]
  origin?: readonly string[]
  signup?: boolean
}

export function appCommand(cli: Cli, run: Run): Command {
  const create = examples(
    new Command("create")
      .description("Create an app. Only for administrators of the installation.")
      .argument("<name>", "Display name.")
      .addOption(new Option("--audience <name...>", "Add an audience that its tokens can have.").argParser(collect))
      .addOption(
        new Option(
          "--scope <key=audience...>",
          "Add a scope of that audience; a trailing + makes it a default scope.",
        ).argParser(collect),
      )
      .addOption(new Option("--origin <url...>", "Allowed origin of its pages.").argParser(collect))
      .option("--no-signup", "Disallow the first sign-in of new people.")
      .action(run((name: string, options: CreateOptions) => createOne(cli, name, options))),
    [
      "signet app create Garden",
      "signet app create Garden --audience svc-garden --scope garden.look=svc-garden+ --scope garden.weed=svc-garden",
    ],
  )
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List the apps that you administer.")
      .addOption(limitOption())
      .action(run(({ limit }: { limit: number }) => listThem(cli, limit))),
    ["signet app list", "signet app list --json"],
  )
  const get = examples(
    new Command("get")
      .description("Show an app.")
      .argument("[app]", "App id. Default: the app of the sign-in.")
      .action(run((app: string | undefined) => getOne(cli, app))),
    ["signet app get", "signet app get app_06enrrq000edm6xx1hjq8s9c9g"],
  )
  const update = appUpdateCommand(cli, run, { parseScope, shown: (app) => shown(cli, app) })
  const command = new Command("app").description("Create, show, change and suspend apps.")
  for (const one of [create, list, get, update, ...movesOf(cli, run)]) command.addCommand(one)
  return command
}

function movesOf(cli: Cli, run: Run): readonly Command[] {
  const thing = {
    path: "signet app",
    argument: ["<app>", "Its id: app_…"],
    example: "app_06enrrq000edm6xx1hjq8s9c9g",
    isInApp: false,
  } as const
  return moveCommands(cli, run, thing, [
    {
      name: "suspend",
      description: "Suspend an app, reversibly. Only for administrators of the installation.",
      warning: "sign-ins to it are rejected, and its sessions end.",
      change: (appId) => callAs(cli, suspendApp, { appId }, (_, { app }) => shown(cli, app)),
    },
    {
      name: "resume",
      description: "Resume a suspended app.",
      change: (appId) => callAs(cli, resumeApp, { appId }, (_, { app }) => shown(cli, app)),
    },
    {
      name: "archive",
      description: "Archive an app permanently.",
      warning: "is archived permanently, with everything in it.",
      change: (appId) => callAs(cli, archiveApp, { appId }, (_, { app }) => shown(cli, app)),
    },
  ])
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
  if (match === null) throw usage(`--scope ${text}: use KEY=AUDIENCE, with a trailing + for a default scope`)
  const [, key = "", audience = "", plus] = match
  return { key, audience, isDefault: plus === "+" }
}

async function getOne(cli: Cli, id: string | undefined) {
  return callAs(cli, getApp, { appId: (await placeOf(cli, id === undefined ? {} : { app: id })).appId }, (_, answer) =>
    shown(cli, answer.app),
  )
}

const view: View<typeof AppSchema> = {
  schema: AppSchema,
  fields: [
    ["id", ({ id }) => id],
    ["name", ({ name }) => name],
    ["status", ({ status }) => nameIn(PlaceStatusSchema, status)],
    ["audiences", ({ audiences }) => audiences.join(",")],
    ["scopes", ({ scopes }) => scopes.map(({ key, isDefault }) => (isDefault ? `${key}+` : key)).join(", "), "alone"],
    ["origins", ({ settings }) => settings?.allowedOrigins.join(", "), "alone"],
    ["redirects", ({ settings }) => settings?.allowedRedirectUris.join(", "), "alone"],
    ["sign-up", ({ settings }) => (settings?.signupEnabled ? "open" : "closed"), "alone"],
    ["created", ({ createdAt }) => timeText(createdAt)],
  ],
}

const shown = (cli: Cli, app: App | undefined): number => showOne(cli, view, app)

const listThem = (cli: Cli, limit: number): Promise<number> =>
  listAll(cli, listApps, limit, {
    view,
    request: (page) => page,
    items: ({ apps }) => apps,
    next: ({ nextPageToken }) => nextPageToken,
  })
