// The development profile's stand-in for IDP_C: one project behind its gateway, and an outbox of sent mails.
import { randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import type { Clock } from "@signet/kernel/ports"
import { decodeJwt } from "jose"
import { type Answer, refuse } from "./idp-c-answers.ts"
import { idpCPath, linkPath } from "./idp-c-clients.ts"
import { answerDirectly, type Switches } from "./idp-c-direct.ts"
import { createProjectKeys, newTokenSecret, type ProjectSigning } from "./idp-c-keys.ts"
import { createProjectPeople } from "./idp-c-people.ts"
import {
  answerOtp,
  answerPassword,
  answerSignup,
  answerUser,
  answerVerify,
  answerVerifyLink,
  type Project,
  type ProjectCall,
} from "./idp-c-project.ts"
import type { StandIn } from "./plugin.ts"
import { answer, answerJson, parseFields, readText } from "./raw-http.ts"

export interface DevelopmentIdpC extends StandIn {
  /** The server's own origin. */
  origin(): string
  /** The gateway's key, expected in the header apikey; new at every start. */
  readonly secretKey: string
  /** The project's signing secret; null if it publishes keys. */
  readonly tokenSecret: string | null
  readonly switches: Switches
  /** The project's internal state, for tests. */
  project(): Promise<Project>
}

interface DevelopmentIdpCOptions {
  /** Any value but "development" is refused. */
  profile: string
  /** Returns the server's own origin. Called at the first request, when the port is known. */
  origin: () => string
  clock: Clock
  signing?: ProjectSigning
}

/** The initial users. */
export const developmentPassword = "development"
const firstPeople = [
  { email: "ada@example.com", password: developmentPassword, isConfirmed: true, name: "Ada Lovelace" },
  { email: "unconfirmed@example.com", password: developmentPassword },
  { email: "anonymous@example.com", password: developmentPassword, isAnonymous: true },
]

/** @throws Error outside the development profile: a reader of its outbox can sign in as any user. */
export function createDevelopmentIdpC(options: DevelopmentIdpCOptions): DevelopmentIdpC {
  const { profile, origin, clock, signing = "ES256" } = options
  if (profile !== "development") throw new Error("the stand-in for IDP_C is for the development profile only")
  const secretKey = `sb_secret_${randomBytes(18).toString("base64url")}`
  const tokenSecret = newTokenSecret()
  const switches: Switches = { down: false, delayMs: 0 }
  let started: Promise<Project> | undefined
  const project = () => {
    started ??= startProject(origin(), clock, signing, tokenSecret)
    return started
  }
  return {
    path: idpCPath,
    origin,
    secretKey,
    tokenSecret: signing === "HS256" ? tokenSecret : null,
    switches,
    project,
    async handle(request, response) {
      const url = new URL(request.url ?? "", origin())
      const path = url.pathname.slice(idpCPath.length)
      if (!path.startsWith("/auth/v1/")) {
        return answerDirectly({ project: await project(), switches }, path, request, response)
      }
      if (switches.delayMs > 0) await delay(switches.delayMs, undefined, { ref: false })
      if (switches.down) return answer(response, 503, "text/html", "<h1>Service Unavailable</h1>\n")
      await gateway(await project(), secretKey, { path: path.slice("/auth/v1".length), url }, request, response)
    },
  }
}

async function startProject(origin: string, clock: Clock, signing: ProjectSigning, secret: string): Promise<Project> {
  const people = createProjectPeople(clock)
  for (const person of firstPeople) people.put(person)
  return {
    people,
    settings: {
      spelling: "codes",
      isSignupDisabled: false,
      mailsLeft: Infinity,
      requestsLeft: Infinity,
      redirectUris: [origin + linkPath, `${origin}/`, "http://localhost:", "http://127.0.0.1:"],
    },
    outbox: [],
    sessions: new Map(),
    keys: await createProjectKeys(signing, secret),
    issuer: `${origin}${idpCPath}/auth/v1`,
    clock,
  }
}

/** The gateway requires the key in its header and does not accept it as a bearer token. */
async function gateway(
  project: Project,
  secretKey: string,
  { path, url }: { path: string; url: URL },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (path === "/.well-known/jwks.json") return answerJson(response, 200, { keys: project.keys.published })
  const { apikey, authorization } = request.headers
  if (apikey !== secretKey || authorization?.includes(secretKey)) {
    return answerJson(response, 401, { message: "Invalid API key", hint: "Double check your API key." })
  }
  const isVersioned = request.headers["x-supabase-api-version"] === "2024-01-01"
  const { settings } = project
  const spelling = settings.spelling === "codes" && isVersioned ? "version" : settings.spelling
  if (settings.requestsLeft <= 0) return send(response, refuse("over_request_rate_limit", spelling))
  settings.requestsLeft -= 1
  const fields = request.method === "POST" || request.method === "PUT" ? parseFields(await readText(request)) : {}
  if (fields === undefined) return send(response, refuse("validation_failed", spelling))
  const call = { query: url.searchParams, fields, spelling }
  send(response, await route(project, `${request.method} ${path}`, call, authorization))
}

function route(
  project: Project,
  what: string,
  call: ProjectCall,
  authorization: string | undefined,
): Promise<Answer> | Answer {
  switch (what) {
    case "POST /token":
      return answerPassword(project, call)
    case "POST /otp":
      return answerOtp(project, call)
    case "POST /verify":
      return answerVerify(project, call)
    case "GET /verify":
      return answerVerifyLink(project, call)
    case "POST /signup":
      return answerSignup(project, call)
    case "POST /logout":
      return answerLogout(project, call, authorization)
    case "GET /user":
      return answerUser(project, call, sessionIdOf(authorization))
    case "PUT /user":
      return answerUpdate(project, call, authorization)
    case "HEAD /verify":
      return { status: 405, body: {} }
    default:
      return { status: 404, body: {} }
  }
}

/** POST /logout?scope=local. The stand-in issued the token itself, so it only reads the session id. */
function answerLogout({ sessions }: Project, { spelling }: ProjectCall, authorization: string | undefined): Answer {
  const id = sessionIdOf(authorization)
  if (id === undefined) return refuse("no_authorization", spelling)
  return sessions.delete(id) ? { status: 204, body: undefined } : refuse("session_not_found", spelling)
}

/** PUT /user: changes the password of the session's user. */
function answerUpdate(
  { sessions, people }: Project,
  { fields, spelling }: ProjectCall,
  authorization: string | undefined,
): Answer {
  const id = sessionIdOf(authorization)
  if (id === undefined) return refuse("no_authorization", spelling)
  const person = sessions.get(id)
  if (person === undefined) return refuse("session_not_found", spelling)
  if (typeof fields.password === "string") people.setPassword(person.email, fields.password)
  return { status: 200, body: { id: person.id, email: person.email } }
}

function sessionIdOf(authorization: string | undefined): string | undefined {
  const [, token] = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/.exec(authorization ?? "") ?? []
  const id = token === undefined ? undefined : decodeJwt(token).session_id
  return typeof id === "string" ? id : undefined
}

function send(response: ServerResponse, { status, body, location }: Answer): void {
  if (location !== undefined) response.setHeader("location", location)
  if (body === undefined) response.writeHead(status).end()
  else answerJson(response, status, body)
}
