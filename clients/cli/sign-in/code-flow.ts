// Sign-in at a provider with an authorization code and PKCE (RFC 6749 section 4.1, RFC 7636, RFC 9207).
import type { ProviderSignIn, Signet } from "@signet/client-node"
import { AuthorizationResponseError, type AuthorizationServer, validateAuthResponse } from "oauth4webapi"
import { type Cli, note } from "../cli.ts"
import { CommandError, exitCodes, usage } from "../failure.ts"
import type { BrowserClient } from "../profiles.ts"
import { readSecret } from "./ask.ts"
import { discover } from "./discovery.ts"
import { openLoopback } from "./loopback.ts"

/** Time for a person to sign in at the provider. */
const waitMs = 300_000

interface CodeFlow {
  readonly browser: BrowserClient
  /** "browser" opens one; "show" prints the address; "paste" also takes the answer from the terminal. */
  readonly how: "browser" | "show" | "paste"
  /** The app's connection for the sign-in. */
  readonly connection?: string | undefined
}

/** The URL for the browser, and the parameters from the service. */
interface Started {
  readonly address: string
  readonly nonce: string
  readonly transaction: string
}

type Start = (redirectUri: string) => Promise<Started>

/** @returns The parameters of the auth service's sign-in. */
export async function signInWithCode(
  cli: Cli,
  signet: Pick<Signet, "newNonce" | "newPkce" | "startSignIn">,
  { browser, how, connection }: CodeFlow,
): Promise<ProviderSignIn> {
  const { metadata, authorizationEndpoint } = await discover(cli, browser.issuer)
  if (authorizationEndpoint === undefined) throw usage(`${browser.issuer} does not support browser sign-in`)
  const { codeVerifier, codeChallenge } = await signet.newPkce()
  const state = signet.newNonce()
  const start: Start = async (redirectUri) => {
    const by = connection === undefined ? {} : { connection }
    const { nonce, transaction } = await signet.startSignIn({ provider: "IDP_A", redirectUri, ...by })
    const url = new URL(authorizationEndpoint)
    const parameters = {
      response_type: "code",
      client_id: browser.clientId,
      redirect_uri: redirectUri,
      scope: "openid email profile",
      code_challenge: codeChallenge,
      code_challenge_method: "S256",
      state,
      nonce,
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return { address: url.href, nonce, transaction }
  }
  const { redirectUri, answer, nonce, transaction } =
    how === "paste" ? await pasted(cli, browser, start) : await cameBack(cli, { browser, how }, start, state)
  const code = codeIn(metadata, browser.clientId, answer, state)
  return { provider: "IDP_A", nonce, transaction, credential: { code, codeVerifier, redirectUri } }
}

async function cameBack(cli: Cli, { browser, how }: CodeFlow, start: Start, state: string) {
  await using loopback = await openLoopback({ redirectUris: browser.redirectUris, state, waitMs })
  const { redirectUri } = loopback
  const { address, ...made } = await start(redirectUri)
  if (how === "browser") {
    await cli.openBrowser(address)
    note(cli, "Opened a browser. Without one: signet login --paste")
  } else {
    note(cli, `Open this in a browser of this machine:\n\n  ${address}\n`)
  }
  return { ...made, redirectUri, answer: await cli.terminal.during("waiting for the browser …", loopback.answer) }
}

/** Without a browser on this machine: the user pastes the final address of a browser elsewhere. */
async function pasted(cli: Cli, browser: BrowserClient, start: Start) {
  const [redirectUri] = browser.redirectUris
  if (redirectUri === undefined) throw usage("no redirect URI is configured", "See: signet profile add --help")
  const { address, ...made } = await start(redirectUri)
  note(cli, `Open this in a browser, anywhere:\n\n  ${address}\n`)
  note(cli, `The sign-in ends at a page that does not load: ${redirectUri}?….`)
  const input = await readSecret(cli, "Paste that page's address (it is not shown)")
  if (!URL.canParse(input)) throw usage("the input is not an address")
  return { ...made, redirectUri, answer: new URL(input) }
}

function codeIn(metadata: AuthorizationServer, clientId: string, answer: URL, state: string): string {
  try {
    const code = validateAuthResponse(metadata, { client_id: clientId }, answer, state).get("code")
    if (code) return code
  } catch (cause) {
    if (cause instanceof AuthorizationResponseError) {
      throw new CommandError(
        "PROVIDER_REFUSED",
        exitCodes.denied,
        `the provider rejected the sign-in: ${cause.error}`,
        { cause },
      )
    }
    throw new CommandError(
      "SIGN_IN_INVALID",
      exitCodes.unauthenticated,
      "the address does not belong to this sign-in",
      {
        cause,
      },
    )
  }
  throw new CommandError(
    "SIGN_IN_INVALID",
    exitCodes.unauthenticated,
    "the provider's response has no authorization code",
  )
}
