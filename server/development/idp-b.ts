// The development profile's stand-in for IDP_B: the provider's protocol with its quirks, without authentication.
import type { IncomingMessage, ServerResponse } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import type { Clock } from "@signet/kernel/ports"
import { answerAuthorization, type Page, showAuthorization } from "./idp-b-authorize.ts"
import { idpBIssuers, idpBPath } from "./idp-b-clients.ts"
import { answerIdpBDirectly } from "./idp-b-direct.ts"
import { createTeamKey, type TeamKey } from "./idp-b-keys.ts"
import { type IdpBState, type Switches, startIdpB } from "./idp-b-state.ts"
import { type Answer, answerRevoke, answerToken } from "./idp-b-token.ts"
import type { StandIn } from "./plugin.ts"
import { answer, answerJson, parseFields, readText } from "./raw-http.ts"

export interface DevelopmentIdpB extends StandIn {
  /** The server's own origin. */
  origin(): string
  /** The key of the development app's team; new at every start. */
  readonly teamKey: TeamKey
  readonly switches: Switches
  /** The provider's internal state, for tests. */
  state(): Promise<IdpBState>
}

interface DevelopmentIdpBOptions {
  /** Any value but "development" is refused. */
  profile: string
  /** Returns the server's own origin. Called at the first request, when the port is known. */
  origin: () => string
  clock: Clock
}

/** @throws Error outside the development profile: this provider authenticates nobody. */
export function createDevelopmentIdpB(options: DevelopmentIdpBOptions): DevelopmentIdpB {
  if (options.profile !== "development") throw new Error("the stand-in for IDP_B is for the development profile only")
  const switches: Switches = { down: false, delayMs: 0, issuer: "first" }
  const teamKey = createTeamKey()
  let started: Promise<IdpBState> | undefined
  const state = () => {
    started ??= startIdpB({ clock: options.clock, origin: options.origin(), teamKey, switches })
    return started
  }
  return {
    path: idpBPath,
    origin: options.origin,
    teamKey,
    switches,
    state,
    async handle(request, response) {
      const url = new URL(request.url ?? "", options.origin())
      const path = url.pathname.slice(idpBPath.length)
      if (!path.startsWith("/auth/") && !path.startsWith("/.well-known/")) {
        return direct(await state(), path, request, response)
      }
      if (switches.delayMs > 0) await delay(switches.delayMs, undefined, { ref: false })
      if (switches.down) return answer(response, 503, "text/html", "<h1>Service Unavailable</h1>\n")
      await serve(await state(), { path, query: url.searchParams, at: options.origin() + idpBPath }, request, response)
    },
  }
}

async function direct(
  state: IdpBState,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fields = request.method === "POST" ? parseFields(await readText(request)) : undefined
  const body = fields && (await answerIdpBDirectly(state, path, fields))
  return body === undefined ? answerJson(response, 400, { error: "invalid_request" }) : answerJson(response, 200, body)
}

async function serve(
  state: IdpBState,
  { path, query, at }: { path: string; query: URLSearchParams; at: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const form = async () => new URLSearchParams(await readText(request))
  switch (`${request.method} ${path}`) {
    case "GET /.well-known/openid-configuration":
      return answerJson(response, 200, metadata(at))
    case "GET /auth/keys":
      return answerJson(response, 200, { keys: state.keys.published })
    case "GET /auth/authorize":
      return answerPage(response, showAuthorization(state, query))
    case "POST /auth/authorize":
      return answerPage(response, await answerAuthorization(state, await form()))
    case "POST /auth/token":
      return answerApi(response, await answerToken(state, await form()))
    case "POST /auth/revoke":
      return answerApi(response, await answerRevoke(state, await form()))
    default:
      return answer(response, 404, "text/html", "<h1>Not Found</h1>\n")
  }
}

/**
 * Names the second issuer, whatever the tokens contain, as the real metadata does. A client that relies on it refuses
 * the tokens.
 */
const metadata = (at: string) => ({
  issuer: idpBIssuers[1],
  authorization_endpoint: `${at}/auth/authorize`,
  token_endpoint: `${at}/auth/token`,
  revocation_endpoint: `${at}/auth/revoke`,
  jwks_uri: `${at}/auth/keys`,
  response_types_supported: ["code"],
  response_modes_supported: ["form_post"],
  subject_types_supported: ["pairwise"],
  id_token_signing_alg_values_supported: ["RS256"],
  scopes_supported: ["openid", "email", "name"],
  token_endpoint_auth_methods_supported: ["client_secret_post"],
})

function answerApi(response: ServerResponse, { status, body }: Answer): void {
  if (body === undefined) answer(response, status, "application/json", "")
  else answerJson(response, status, body)
}

function answerPage(response: ServerResponse, { status, html, scriptNonce }: Page): void {
  const script = scriptNonce === undefined ? "'none'" : `'nonce-${scriptNonce}'`
  response.setHeader("content-security-policy", `default-src 'none'; script-src ${script}; frame-ancestors 'none'`)
  answer(response, status, "text/html; charset=utf-8", html)
}
