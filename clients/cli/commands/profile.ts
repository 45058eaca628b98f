import { Command, Option } from "commander"
import { addressOf, type Cli, examples, keepProfile, note, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect } from "../lists.ts"
import {
  defaultServer,
  homeOf,
  namePattern,
  type Profile,
  parseServer,
  readProfiles,
  writeProfiles,
} from "../profiles.ts"
import { formatTable } from "../table.ts"
import { serverIssuerText } from "./login.ts"

interface AddOptions {
  server: string
  serverIssuer?: string
  app?: string
  authAudience?: string
  issuer?: string
  clientId?: string
  redirectUri?: readonly string[]
}

export function profileCommand(cli: Cli, run: Run): Command {
  const add = examples(
    new Command("add")
      .description("Add a profile for a server, and select it.")
      .argument("<name>", "Name of your choice.")
      .requiredOption("--server <url>", "Its address.")
      .option("--server-issuer <url>", serverIssuerText)
      .option("--app <id>", "App to sign in to.")
      .option("--auth-audience <name>", "The server's own audience, if it is not auth.")
      .option("--issuer <url>", "Issuer of the provider for a browser sign-in.")
      .option("--client-id <id>", "The app's client id at the provider.")
      .addOption(
        new Option(
          "--redirect-uri <url...>",
          "Loopback redirect address that is registered at the provider and at the app.",
        ).argParser(collect),
      )
      .action(run(async (name: string, options: AddOptions) => addOne(cli, name, options))),
    [
      "signet profile add work --server https://auth.example --app app_06enrrq000edm6xx1hjq8s9c9g",
      "signet profile add work --server https://auth.example --app app_06enrrq000edm6xx1hjq8s9c9g --issuer https://idp.example --client-id garden-cli --redirect-uri http://127.0.0.1:8976/callback",
    ],
  )
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List the profiles.")
      .action(run(async () => listThem(cli))),
    ["signet profile list"],
  )
  const use = examples(
    new Command("use")
      .description("Select a profile.")
      .argument("<name>")
      .action(
        run(async (name: string) => {
          const home = homeOf(cli.env)
          const { all } = readProfiles(home)
          if (!all.has(name) && name !== "default") throw usage(`profile ${JSON.stringify(name)} does not exist`)
          writeProfiles(home, { current: name, all })
          show(cli, { current: name }, () => `Selected ${name}.`)
          return 0
        }),
      ),
    ["signet profile use work"],
  )
  const remove = examples(
    new Command("remove")
      .description("Remove a profile that is signed out.")
      .argument("<name>")
      .action(run(async (name: string) => removeOne(cli, name))),
    ["signet profile remove work"],
  )
  const set = examples(
    new Command("set")
      .description("Set the default app and tenant of administrative commands; an empty value removes the default.")
      .option("--app <id>", "App id: app_…")
      .option("--tenant <id>", "Tenant id: ten_…")
      .action(run(async (options: { app?: string; tenant?: string }) => setPlace(cli, options))),
    [
      "signet profile set --app app_06enrrq000edm6xx1hjq8s9c9g",
      "signet profile set --tenant ten_06enrrq000edm6xx1hjq8s9c9g",
      'signet profile set --app ""',
    ],
  )
  return new Command("profile")
    .description("Profiles: servers and the sign-ins to them.")
    .addCommand(add)
    .addCommand(set)
    .addCommand(list)
    .addCommand(use)
    .addCommand(remove)
}

function addOne(cli: Cli, name: string, options: AddOptions): number {
  if (!namePattern.test(name)) throw usage("a profile name has only lower-case letters, digits, dots and hyphens")
  const home = homeOf(cli.env)
  const { all } = readProfiles(home)
  if (all.has(name)) throw usage(`profile ${name} already exists`, `Remove it first: signet profile remove ${name}`)
  const { issuer, clientId, redirectUri } = options
  if ((issuer === undefined) !== (clientId === undefined)) throw usage("--issuer and --client-id must be used together")
  const profile: Profile = {
    ...addressOf(parseServer(options.server), options.serverIssuer),
    appId: options.app,
    authAudience: options.authAudience,
    ...(issuer && clientId && { browser: { issuer, clientId, redirectUris: redirectUri ?? [] } }),
  }
  writeProfiles(home, { current: name, all: new Map(all).set(name, profile) })
  show(cli, { name, ...profile }, () => `Profile ${name} is for ${profile.server}. Sign in: signet login`)
  return 0
}

function setPlace(cli: Cli, { app, tenant }: { app?: string; tenant?: string }): number {
  if ((app ?? tenant) === undefined) throw usage("--app or --tenant is required")
  const profile = profileOf(cli)
  if (profile.isPassing)
    throw usage("SIGNET_SERVER is for single commands: nothing is stored", "Set SIGNET_APP instead.")
  const appId = (app ?? profile.administers?.appId) || undefined
  // A tenant belongs to one app, so another app resets it.
  const tenantId = (tenant ?? (app === undefined ? profile.administers?.tenantId : undefined)) || undefined
  keepProfile(cli, { ...profile, administers: { appId, tenantId } })
  show(cli, { name: profile.name, appId: appId ?? null, tenantId: tenantId ?? null }, () =>
    appId === undefined && tenantId === undefined
      ? `Profile ${profile.name} has no default app or tenant.`
      : `Profile ${profile.name} uses ${[appId, tenantId].filter(Boolean).join(" ")}.`,
  )
  return 0
}

function listThem(cli: Cli): number {
  const { current, all } = readProfiles(homeOf(cli.env))
  if (all.size === 0) note(cli, `There are no profiles. The default server is ${defaultServer}: signet login`)
  const rows = [...all].map(([name, profile]) => ({ name, current: name === current, ...profile }))
  show(cli, rows, () =>
    formatTable(
      cli.terminal,
      ["", "NAME", "SERVER", "APP", "SIGNED IN"],
      rows.map((row) => [row.current ? "*" : "", row.name, row.server, row.appId ?? "", row.signIn ?? "no"]),
    ),
  )
  return 0
}

function removeOne(cli: Cli, name: string): number {
  const home = homeOf(cli.env)
  const { current, all } = readProfiles(home)
  const found = all.get(name)
  if (found === undefined) throw usage(`profile ${JSON.stringify(name)} does not exist`)
  if (found.signIn !== undefined)
    throw usage(`a user is signed in with this profile`, `Sign out first: signet logout --profile ${name}`)
  const left = new Map(all)
  left.delete(name)
  writeProfiles(home, { current: current === name ? "default" : current, all: left })
  show(cli, { removed: name }, () => `Removed profile ${name}.`)
  return 0
}
