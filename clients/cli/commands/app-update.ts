// Changes an app: the given options add, remove or replace values; the rest is unchanged.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { App, AppSchema, AppScope } from "@signet/proto/auth/v1/apps"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect, parseCount } from "../lists.ts"
import { placeOf } from "../place.ts"

const { getApp, updateApp } = AppAuthService.method
const daySeconds = 86_400

interface Options {
  readonly name?: string
  readonly addAudience?: readonly string[]
  readonly removeAudience?: readonly string[]
  readonly addScope?: readonly string[]
  readonly removeScope?: readonly string[]
  readonly scopePermission?: readonly string[]
  readonly addOrigin?: readonly string[]
  readonly removeOrigin?: readonly string[]
  readonly addRedirect?: readonly string[]
  readonly removeRedirect?: readonly string[]
  readonly signup?: boolean
  readonly sessionDays?: number
}

const listOption = (flags: string, description: string): Option => new Option(flags, description).argParser(collect)

export function appUpdateCommand(
  cli: Cli,
  run: Run,
  { parseScope, shown }: { parseScope: (text: string) => Scope; shown: (app: App | undefined) => number },
): Command {
  return examples(
    new Command("update")
      .description("Change an app. Omitted options stay unchanged.")
      .argument("[app]", "App id. Default: SIGNET_APP, the profile's app, or the app of the sign-in.")
      .option("--name <text>", "Display name.")
      .addOption(listOption("--add-audience <name...>", "Add an audience that its tokens can have."))
      .addOption(listOption("--remove-audience <name...>", "Remove an audience."))
      .addOption(listOption("--add-scope <key=audience...>", "Add a scope; a trailing + makes it a default scope."))
      .addOption(listOption("--remove-scope <key...>", "Remove a scope."))
      .addOption(listOption("--scope-permission <key=permission...>", "Permission that tokens with the scope can use."))
      .addOption(listOption("--add-origin <url...>", "Allowed origin of its pages."))
      .addOption(listOption("--remove-origin <url...>", "Remove an allowed origin."))
      .addOption(listOption("--add-redirect <url...>", "Allowed redirect address of magic links."))
      .addOption(listOption("--remove-redirect <url...>", "Remove a redirect address."))
      .option("--signup", "Allow the first sign-in of new people.")
      .option("--no-signup", "Disallow it.")
      .option("--session-days <n>", "Absolute lifetime of sessions in days: 1 to 365.", (text) => parseCount(text, 365))
      .action(
        run(async (argument: string | undefined, options: Options) => {
          const { appId } = await placeOf(cli, argument === undefined ? {} : { app: argument })
          return callAs(cli, getApp, { appId }, async (api, { app: before }) => {
            if (before === undefined) return shown(before)
            const { app, paths } = changed(before, options, parseScope)
            if (paths.length === 0) throw usage("no option given: name what to change", "See: signet app update --help")
            // The new lists derive from the ones read: a change in between must not be lost.
            const request = { appId, app: { ...app, etag: before.etag }, updateMask: { paths } }
            return shown((await api.call(updateApp, request)).app)
          })
        }),
      ),
    [
      "signet app update --add-scope garden.plant=svc-garden",
      "signet app update app_06enrrq000edm6xx1hjq8s9c9g --add-origin https://garden.example --no-signup",
    ],
  )
}

type Scope = Pick<AppScope, "key" | "audience" | "isDefault">

function changed(
  { audiences, scopes, settings }: App,
  options: Options,
  parseScope: (text: string) => Scope,
): { app: MessageInitShape<typeof AppSchema>; paths: string[] } {
  const { name, addAudience, removeAudience, addOrigin, removeOrigin, addRedirect, removeRedirect } = options
  const { signup, sessionDays } = options
  const isScopes = (options.addScope ?? options.removeScope ?? options.scopePermission) !== undefined
  const parts = [
    name !== undefined && { path: "name", app: { name } },
    (addAudience ?? removeAudience) && {
      path: "audiences",
      app: { audiences: edited(audiences, addAudience, removeAudience) },
    },
    isScopes && { path: "scopes", app: { scopes: scopesOf(scopes, options, parseScope) } },
  ].filter((part) => typeof part === "object")
  const set = [
    signup !== undefined && { path: "signup_enabled", value: { signupEnabled: signup } },
    sessionDays !== undefined && {
      path: "session_absolute_seconds",
      value: { sessionAbsoluteSeconds: sessionDays * daySeconds },
    },
    (addOrigin ?? removeOrigin) && {
      path: "allowed_origins",
      value: { allowedOrigins: edited(settings?.allowedOrigins ?? [], addOrigin, removeOrigin) },
    },
    (addRedirect ?? removeRedirect) && {
      path: "allowed_redirect_uris",
      value: { allowedRedirectUris: edited(settings?.allowedRedirectUris ?? [], addRedirect, removeRedirect) },
    },
  ].filter((part) => typeof part === "object")
  return {
    app: {
      ...Object.assign({}, ...parts.map(({ app }) => app)),
      settings: Object.assign({}, ...set.map(({ value }) => value)),
    },
    paths: [...parts.map(({ path }) => path), ...set.map(({ path }) => `settings.${path}`)],
  }
}

const edited = (before: readonly string[], add: readonly string[] = [], remove: readonly string[] = []): string[] =>
  [...new Set([...before, ...add])].filter((each) => !remove.includes(each))

function scopesOf(before: readonly AppScope[], options: Options, parseScope: (text: string) => Scope) {
  const { addScope = [], removeScope = [], scopePermission = [] } = options
  const scopes = new Map(
    before.map(({ key, audience, isDefault, permissions }) => [key, { key, audience, isDefault, permissions }]),
  )
  for (const text of addScope) {
    const scope = parseScope(text)
    scopes.set(scope.key, { ...scope, permissions: scopes.get(scope.key)?.permissions ?? [] })
  }
  for (const text of scopePermission) {
    const [key = "", permission] = text.split("=")
    const scope = scopes.get(key)
    if (permission === undefined || scope === undefined) {
      throw usage(`--scope-permission ${text}: use KEY=PERMISSION with a scope of the app`)
    }
    scopes.set(key, { ...scope, permissions: edited(scope.permissions, [permission]) })
  }
  for (const key of removeScope) {
    if (!scopes.delete(key)) throw usage(`--remove-scope ${key}: the app has no such scope`)
  }
  return [...scopes.values()]
}
