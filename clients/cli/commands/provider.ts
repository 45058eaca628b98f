import { toJson } from "@bufbuild/protobuf"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import {
  type ProviderClient,
  ProviderClient_StatusSchema,
  ProviderClientSchema,
} from "@signet/proto/auth/v1/provider_clients"
import { Platform, PlatformSchema, Provider, ProviderSchema } from "@signet/proto/auth/v1/records"
import { Command, Option } from "commander"
import { type Api, callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collect, collectPages, limitOption } from "../lists.ts"
import { appIdOf } from "../own-app.ts"
import { nameIn, valueIn } from "../shape.ts"
import { readSecret } from "../sign-in/ask.ts"
import { discover } from "../sign-in/discovery.ts"
import { formatRecord, formatTable } from "../table.ts"

const { createProviderClient, listProviderClients, updateProviderClient } = AppAuthService.method

interface SetOptions {
  app?: string
  platform: string
  connection: string
  displayName?: string
  preset?: string
  presetTenant?: string
  clientId?: string
  issuer?: readonly string[]
  jwksUri?: string
  authorizationEndpoint?: string
  tokenEndpoint?: string
  redirectUri?: readonly string[]
  providerTenant?: string
  clientKeyId?: string
  projectUrl?: string
  nonce?: boolean
  signup?: boolean
  clientSecret?: boolean
}

export function providerCommand(cli: Cli, run: Run): Command {
  const set = examples(
    new Command("set")
      .description("Configure an app's client at a provider: creates it, or changes the given options.")
      .addArgument(new Command().createArgument("<provider>", "Who vouches.").choices(["idp-a", "idp-b", "idp-c"]))
      .option("--app <id>", "App id. Default: the app of the sign-in.")
      .addOption(
        new Option("--platform <name>", "Platform of the app.").choices(["web", "android", "ios"]).default("web"),
      )
      .option(
        "--connection <name>",
        "Connection name, if the app has several at this provider; the default has none.",
        "",
      )
      .option("--display-name <text>", "Name for the sign-in page.")
      .addOption(
        new Option("--preset <name>", "Preset of a known provider, only when the client is created.").choices([
          ...["google", "entra", "okta", "auth0"],
        ]),
      )
      .option("--preset-tenant <id>", "entra: the tenant's id. okta, auth0: the domain.")
      .option("--client-id <id>", "The app's client id at the provider.")
      .addOption(
        new Option(
          "--issuer <url...>",
          "The provider's issuer. Omitted keys and endpoints are discovered there.",
        ).argParser(collect),
      )
      .option("--jwks-uri <url>", "Address of the provider's JWK Set.")
      .option("--authorization-endpoint <url>", "Authorization endpoint.")
      .option("--token-endpoint <url>", "Token endpoint.")
      .addOption(new Option("--redirect-uri <url...>", "Redirect URI of authorization codes.").argParser(collect))
      .option("--provider-tenant <id>", "IDP_B: the team id. IDP_C: the project reference.")
      .option("--client-key-id <id>", "IDP_B: the id of the private key.")
      .option("--project-url <url>", "IDP_C: the project's address.")
      .option("--no-nonce", "Accept sign-ins without a nonce.")
      .option("--no-signup", "Disallow the first sign-in of new people through this client.")
      .option("--client-secret", "Read the client secret from standard input, or prompt for it.")
      .action(run((provider: string, options: SetOptions) => setOne(cli, provider, options))),
    [
      "signet provider set idp-a --client-id garden-web --issuer https://idp.example --redirect-uri https://garden.example/cb",
      "signet provider set idp-a --connection okta --preset okta --preset-tenant example.okta.com --client-id 0oa1",
      "signet provider set idp-a --client-secret < secret.txt",
    ],
  )
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List an app's clients at providers.")
      .option("--app <id>", "App id. Default: the app of the sign-in.")
      .addOption(limitOption())
      .action(run((options: { app?: string; limit: number }) => listThem(cli, options))),
    ["signet provider list"],
  )
  return new Command("provider").description("An app's own clients at providers.").addCommand(set).addCommand(list)
}

async function setOne(cli: Cli, provider: string, options: SetOptions) {
  const appId = await appIdOf(cli, options.app)
  const { authorizationEndpoint, requiresResponseIssuer, ...rest } = await valuesOf(cli, options)
  const forBrowsers = {
    ...(authorizationEndpoint && { authorizationEndpoint }),
    ...(requiresResponseIssuer && { requiresResponseIssuer }),
  }
  const values: Values = provider === "idp-a" ? { ...rest, ...forBrowsers } : rest
  const is = {
    provider: valueIn(Provider, provider),
    platform: valueIn(Platform, options.platform),
    connection: options.connection,
  }
  return callAs(cli, listProviderClients, { appId, pageSize: 200 }, async (api, { providerClients }) => {
    const before = providerClients.find(
      (one) => one.provider === is.provider && one.platform === is.platform && one.connection === is.connection,
    )
    const { preset, presetTenant } = options
    const filled = { ...(preset && { preset }), ...(presetTenant && { presetTenant }) }
    const client =
      before === undefined
        ? await make(api, appId, { ...values, ...is, ...filled })
        : await change(api, before, { ...values, ...filled })
    if (client !== undefined) shown(cli, client)
    return client === undefined ? 1 : 0
  })
}

type Values = Awaited<ReturnType<typeof valuesOf>>

async function valuesOf(cli: Cli, options: SetOptions) {
  const issuer = options.issuer?.[0]
  const isSaid = options.jwksUri !== undefined
  const found = issuer === undefined || isSaid ? undefined : await discover(cli, issuer)
  const authorizationEndpoint = options.authorizationEndpoint ?? found?.authorizationEndpoint
  const namesItself = found?.metadata.authorization_response_iss_parameter_supported === true
  const secret = options.clientSecret === true ? await readSecret(cli, "Client secret") : undefined
  return {
    ...(options.clientId && { clientId: options.clientId }),
    ...(options.displayName && { displayName: options.displayName }),
    ...(authorizationEndpoint && { authorizationEndpoint }),
    ...(namesItself && { requiresResponseIssuer: true }),
    ...(options.issuer && { issuers: [...options.issuer] }),
    ...((options.jwksUri ?? found?.jwksUri) && { jwksUri: options.jwksUri ?? found?.jwksUri }),
    ...((options.tokenEndpoint ?? found?.tokenEndpoint) && {
      tokenEndpoint: options.tokenEndpoint ?? found?.tokenEndpoint,
    }),
    ...(options.redirectUri && { redirectUris: [...options.redirectUri] }),
    ...(options.providerTenant && { providerTenant: options.providerTenant }),
    ...(options.clientKeyId && { clientKeyId: options.clientKeyId }),
    ...(options.projectUrl && { projectUrl: options.projectUrl }),
    ...(secret && { clientSecret: secret }),
    requireNonce: options.nonce !== false,
    signupEnabled: options.signup !== false,
  }
}

interface Made {
  readonly provider?: Provider
  readonly platform?: Platform
  readonly connection?: string
  readonly preset?: string
  readonly presetTenant?: string
}

async function make(api: Api, appId: string, values: Values & Made) {
  if (values.clientId === undefined && values.provider !== Provider.IDP_C) {
    throw usage("a new client requires --client-id", "See: signet provider set --help")
  }
  const { issuers = [], redirectUris = [], ...rest } = values
  return (await api.call(createProviderClient, { appId, providerClient: { ...rest, issuers, redirectUris } }))
    .providerClient
}

async function change(api: Api, before: ProviderClient, { requireNonce, signupEnabled, ...values }: Values) {
  const flags = { ...(requireNonce ? {} : { requireNonce }), ...(signupEnabled ? {} : { signupEnabled }) }
  const changes = { ...values, ...flags }
  if (Object.keys(changes).length === 0)
    throw usage("no option given: name what to change", "See: signet provider set --help")
  const request = {
    appId: before.appId,
    providerClientId: before.id,
    providerClient: changes,
    updateMask: {
      paths: Object.keys(changes).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
    },
  }
  return (await api.call(updateProviderClient, request)).providerClient
}

function shown(cli: Cli, client: ProviderClient): void {
  show(cli, toJson(ProviderClientSchema, client), () =>
    formatRecord(cli.terminal, [
      ["id", client.id],
      ["provider", nameIn(ProviderSchema, client.provider)],
      ["platform", nameIn(PlatformSchema, client.platform)],
      ["connection", client.connection || "the default"],
      ["status", nameIn(ProviderClient_StatusSchema, client.status)],
      ["client id", client.clientId],
      ["issuers", client.issuers.join(", ")],
      ["keys", client.jwksUri],
      ["token endpoint", client.tokenEndpoint],
      ["redirects", client.redirectUris.join(", ")],
      ["secret", client.hasClientSecret ? "is kept" : "none"],
    ]),
  )
}

async function listThem(cli: Cli, { app, limit }: { app?: string; limit: number }) {
  const appId = await appIdOf(cli, app)
  return callAs(cli, listProviderClients, { appId, pageSize: Math.min(limit, 200) }, async (api, first) => {
    const clients = await collectPages(limit, async ({ pageSize, pageToken }) => {
      const page = pageToken === "" ? first : await api.call(listProviderClients, { appId, pageSize, pageToken })
      return { items: page.providerClients, nextPageToken: page.nextPageToken }
    })
    show(
      cli,
      clients.map((client) => toJson(ProviderClientSchema, client)),
      () =>
        formatTable(
          cli.terminal,
          ["ID", "PROVIDER", "PLATFORM", "CONNECTION", "STATUS", "CLIENT ID", "ISSUER"],
          clients.map((client) => [
            client.id,
            nameIn(ProviderSchema, client.provider),
            nameIn(PlatformSchema, client.platform),
            client.connection || "–",
            nameIn(ProviderClient_StatusSchema, client.status),
            client.clientId,
            client.canonicalIssuer,
          ]),
        ),
    )
    return 0
  })
}
