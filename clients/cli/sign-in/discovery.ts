// The provider's metadata (OpenID Connect Discovery 1.0).
import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from "oauth4webapi"
import type { Cli } from "../cli.ts"
import { CommandError, exitCodes, usage } from "../failure.ts"
import { isLoopbackHost } from "../profiles.ts"

const timeoutMs = 10_000

interface Discovered {
  readonly metadata: AuthorizationServer
  readonly authorizationEndpoint: string | undefined
  readonly tokenEndpoint: string | undefined
  readonly jwksUri: string | undefined
}

/** @throws CommandError when the issuer has no valid metadata. */
export async function discover(cli: Pick<Cli, "fetch" | "terminal">, issuer: string): Promise<Discovered> {
  if (!URL.canParse(issuer)) throw usage(`${issuer} is not an issuer URL`)
  const url = new URL(issuer)
  const options = {
    [customFetch]: cli.fetch,
    [allowInsecureRequests]: isLoopbackHost(url.hostname),
    signal: AbortSignal.timeout(timeoutMs),
  }
  try {
    const asked = discoveryRequest(url, options).then((answer) => processDiscoveryResponse(url, answer))
    const metadata = await cli.terminal.during(`asking ${url.host} …`, asked)
    const { authorization_endpoint, token_endpoint, jwks_uri } = metadata
    for (const address of [authorization_endpoint, token_endpoint, jwks_uri]) checkAddress(address)
    return { metadata, authorizationEndpoint: authorization_endpoint, tokenEndpoint: token_endpoint, jwksUri: jwks_uri }
  } catch (cause) {
    const message = `${issuer} does not respond as an OpenID provider`
    throw new CommandError("PROVIDER_UNREACHABLE", exitCodes.unavailable, message, { cause })
  }
}

/** Endpoints are opened in a browser and sent to the server, so only https is permitted, and http on loopback. */
function checkAddress(address: string | undefined): void {
  if (address === undefined) return
  const { protocol, hostname } = new URL(address)
  if (protocol !== "https:" && !(protocol === "http:" && isLoopbackHost(hostname))) throw new Error("no safe address")
}
