// The development profile's stand-in for IDP_A: a real OpenID provider in this process, without authentication.
import { randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Clock } from "@signet/kernel/ports"
import { type DevelopmentIssuer, idpA } from "./app.ts"
import { answerDirectly } from "./direct.ts"
import { type Person, parsePerson, subjectOf } from "./person.ts"
import type { StandIn } from "./plugin.ts"
import { type RunningProvider, startProvider } from "./provider.ts"
import { answer, answerJson, readText } from "./raw-http.ts"
import { signInPage } from "./sign-in-page.ts"

export interface DevelopmentIdp extends StandIn {
  /** The server's own origin. */
  origin(): string
  /** The web client's secret at the provider; new at every start. */
  readonly webSecret: string
}

interface DevelopmentIdpOptions {
  /** Any value but "development" is refused. */
  profile: string
  /** Returns the server's own origin. Called at the first request, when the port is known. */
  origin: () => string
  clock: Clock
  /** Default: the issuer of the app's default connection. */
  of?: DevelopmentIssuer
}

/** @throws Error outside the development profile: this provider authenticates nobody. */
export function createDevelopmentIdp(options: DevelopmentIdpOptions): DevelopmentIdp {
  if (options.profile !== "development") throw new Error("the stand-in provider is for the development profile only")
  const { of = idpA, origin, clock } = options
  const people = new Map<string, Person>()
  const webSecret = randomBytes(24).toString("base64url")
  let started: Promise<RunningProvider> | undefined

  return {
    path: of.path,
    origin,
    webSecret,
    async handle(request, response) {
      started ??= startProvider({ of, origin: origin(), webSecret, people, clock })
      const running = await started
      const path = (request.url ?? "").slice(of.path.length)
      if (request.method === "POST" && (path === "/id-token" || path === "/login-request")) {
        const body = await answerDirectly(running, path, await readText(request))
        if (body === undefined) return answerJson(response, 400, { error: "invalid_request" })
        return answerJson(response, 200, body)
      }
      if (path.startsWith("/sign-in/")) return signIn(running, people, request, response)
      // A mounted handler reads its own part of the path in url, and the whole path in originalUrl.
      Object.assign(request, { originalUrl: request.url, url: path === "" ? "/" : path })
      await running.provider.callback()(request, response)
    },
  }
}

/** Shows and processes the sign-in form. */
async function signIn(
  { provider }: RunningProvider,
  people: Map<string, Person>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response).catch(() => undefined)
  if (interaction === undefined) return answer(response, 400, "text/plain", "this sign-in has ended; start again\n")
  if (request.method !== "POST") {
    response.setHeader(
      "content-security-policy",
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    )
    return answer(response, 200, "text/html; charset=utf-8", signInPage(String(interaction.params.client_id)))
  }
  const person = parsePerson(Object.fromEntries(new URLSearchParams(await readText(request))))
  if (person === undefined) return answer(response, 400, "text/plain", "an email address is required\n")
  const sub = subjectOf(person)
  people.set(sub, person)
  await provider.interactionFinished(request, response, { login: { accountId: sub, remember: false } })
}
