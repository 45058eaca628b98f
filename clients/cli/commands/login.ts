import type { SignedIn } from "@signet/client-node"
import { Command, Option } from "commander"
import { openAccount } from "../account.ts"
import { addressOf, type Cli, examples, keepProfile, type NamedProfile, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { openCredentialStore, storeOf } from "../credential-store.ts"
import { usage } from "../failure.ts"
import { parseServer } from "../profiles.ts"
import { readSecret } from "../sign-in/ask.ts"
import { signInWithCode } from "../sign-in/code-flow.ts"
import { developmentBrowser, developmentSignIn } from "../sign-in/development.ts"
import { checkIssuer } from "../sign-in/issuer.ts"
import { leaveReplaced } from "../sign-in/replaced.ts"
import { openSignet } from "../signet.ts"
import { unlockMinutesOption } from "./unlock.ts"

interface LoginOptions {
  server?: string
  serverIssuer?: string
  app?: string
  email?: string
  pat?: boolean
  as?: string
  paste?: boolean
  browser?: boolean
  store?: "os" | "passphrase"
  tenant?: string
  context?: string
  connection?: string
  unlockMinutes?: number
}

export const serverIssuerText =
  "Issuer of a server at a loopback address: before DNS and TLS exist, or through a tunnel."

export function loginCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("login")
      .description("Sign in with a browser, or by another method. Tokens are sealed in the system's credential store.")
      .option("--server <url>", "Address of the server, stored in the profile.")
      .option("--server-issuer <url>", serverIssuerText)
      .option("--app <id>", "App to sign in to, stored in the profile.")
      .addOption(
        new Option("--email <address>", "Sign in with a password, prompted for or read from standard input.").conflicts(
          ["pat", "as", "paste"],
        ),
      )
      .addOption(
        new Option(
          "--pat",
          "Sign in with a personal access token, prompted for or read from standard input.",
        ).conflicts(["as", "paste"]),
      )
      .addOption(
        new Option(
          "--as <email>",
          "Sign in as this person without a proof. Only for servers in the development profile.",
        ).conflicts("paste"),
      )
      .option("--paste", "Sign in with a browser on another machine and paste the final address.")
      .option("--no-browser", "Print the address instead of opening a browser.")
      .option("--connection <name>", "Connection to sign in with, if the app has several.")
      .option("--tenant <id>", "Sign in to this tenant.")
      .option("--context <id>", "Sign in to this context.")
      .addOption(
        new Option(
          "--store <where>",
          "Where to seal secrets: the system's store, or a file under a passphrase.",
        ).choices(["os", "passphrase"]),
      )
      .addOption(unlockMinutesOption())
      .action(
        run((options: LoginOptions) => {
          cli.options.unlockMinutes = options.unlockMinutes
          return login(cli, options)
        }),
      ),
    [
      "signet login",
      "signet login --as ada@example.com",
      "signet login --server https://auth.example --app app_06enrrq000edm6xx1hjq8s9c9g --email ada@example.com",
      "signet login --pat < token.txt",
      "signet login --pat --server http://127.0.0.1:8080 --server-issuer https://auth.example",
      "signet login --store passphrase",
    ],
  )
}

async function login(cli: Cli, options: LoginOptions): Promise<number> {
  const profile = withOptions(cli, options)
  if (profile.isPassing) throw usage("SIGNET_SERVER is for single commands: nothing is stored", "Use --server instead.")
  await checkIssuer(cli, profile)
  const before = profileOf(cli)
  const code = await (options.pat ? loginWithPat(cli, profile) : loginWithSession(cli, profile, options))
  await leaveReplaced(cli, before)
  return code
}

function withOptions(cli: Cli, { server, serverIssuer, app, store }: LoginOptions): NamedProfile {
  const profile = profileOf(cli)
  const address = server === undefined ? profile.server : parseServer(server)
  if (address !== profile.server && profile.signIn !== undefined) {
    throw usage(
      `profile is already signed in to ${profile.server}`,
      "Create another profile: signet profile add NAME --server URL",
    )
  }
  const kept = address === profile.server ? profile.serverIssuer : undefined
  const at = { serverIssuer: undefined, ...addressOf(address, serverIssuer ?? kept ?? cli.env.SIGNET_SERVER_ISSUER) }
  return { ...profile, ...at, ...(app && { appId: app }), store: store ?? profile.store ?? storeOf(cli) }
}

async function loginWithPat(cli: Cli, profile: NamedProfile): Promise<number> {
  const pat = await readSecret(cli, "Personal access token")
  if (!/^sgpat_[0-9A-Za-z]{50}$/.test(pat))
    throw usage("the input is not a personal access token: it must begin with sgpat_")
  const trial = { ...cli, env: { ...cli.env, SIGNET_PAT: pat } }
  await using account = await openAccount(trial, profile)
  await account.accessToken()
  const credentials = await openCredentialStore(cli, profile)
  await credentials.write("pat", pat)
  keepProfile(cli, { ...profile, signIn: "pat" })
  show(
    cli,
    { server: profile.server, profile: profile.name, signIn: "pat" },
    () => `Signed in to ${profile.server} with a personal access token.`,
  )
  return 0
}

async function loginWithSession(cli: Cli, before: NamedProfile, options: LoginOptions): Promise<number> {
  const isDirect = options.as !== undefined || (options.email === undefined && before.browser === undefined)
  const stood = isDirect ? await developmentSignIn(cli, before, options.as) : undefined
  if (options.as !== undefined && stood === undefined) {
    throw usage(`${before.server} is not in the development profile: --as is not possible`)
  }
  const profile = { ...before, appId: before.appId ?? stood?.appId }
  const signet = await openSignet(cli, profile)
  try {
    const { tenant: tenantId, context: contextId } = options
    const place = { ...(tenantId && { tenantId }), ...(contextId && { contextId }) }
    const by = options.connection === undefined ? {} : { connection: options.connection }
    let signedIn: SignedIn
    if (options.email !== undefined) {
      const password = await readSecret(cli, `Password of ${options.email}`)
      const asked = signet.loginWithPassword({ email: options.email, password, ...place })
      signedIn = await cli.terminal.during("signing in …", asked)
    } else if (options.as !== undefined && stood !== undefined) {
      signedIn = await signet.login({ ...stood.signIn, ...place })
    } else {
      const browser = profile.browser ?? (stood && developmentBrowser(profile))
      if (browser === undefined) {
        throw usage(
          "this profile has no provider for a browser sign-in",
          "Set one with signet profile add --issuer and --client-id; or sign in with --email or --pat.",
        )
      }
      const how = options.paste ? "paste" : options.browser === false ? "show" : "browser"
      const asked = await signInWithCode(cli, signet, { browser, how, ...by })
      signedIn = await cli.terminal.during("signing in …", signet.login({ ...asked, ...place, ...by }))
    }
    keepProfile(cli, { ...profile, signIn: "session" })
    const { user } = signedIn
    const json = {
      server: profile.server,
      profile: profile.name,
      signIn: "session",
      ...user,
      created: signedIn.created,
    }
    show(cli, json, () => `Signed in to ${profile.server} as ${user.primaryEmail ?? user.principalId}.`)
    return 0
  } finally {
    signet.close()
  }
}
