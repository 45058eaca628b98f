// A project of the stand-in for IDP_C: what it answers to each call of the protocol, with what the real one gets wrong.
import { randomBytes, randomUUID } from "node:crypto"
import type { Clock } from "@signet/kernel/ports"
import { type Answer, type Code, refuse, type Spelling } from "./idp-c-answers.ts"
import type { ProjectKeys } from "./idp-c-keys.ts"
import type { LinkType, ProjectPeople, ProjectPerson } from "./idp-c-people.ts"

export interface Mail {
  to: string
  /** As the project's template writes it: the page that was asked for, with `token_hash` and `type`. */
  link: string
  tokenHash: string
  type: LinkType
}

/** What a test, or whoever tries an app, may change at any time. */
export interface ProjectSettings {
  spelling: Spelling
  /** The project takes no new people at all. */
  isSignupDisabled: boolean
  /** How many mails it still sends, and how many requests it takes. */
  mailsLeft: number
  requestsLeft: number
  /** Where links may lead: addresses that start like this. Others lead to the first. */
  redirectUris: readonly string[]
}

export interface Project {
  readonly people: ProjectPeople
  readonly settings: ProjectSettings
  /** The newest last; at most a hundred. */
  readonly outbox: Mail[]
  /** Sessions that have not ended, by id. */
  readonly sessions: Map<string, ProjectPerson>
  readonly keys: ProjectKeys
  readonly issuer: string
  readonly clock: Clock
}

/** What a call asks with. */
export interface ProjectCall {
  query: URLSearchParams
  fields: Readonly<Record<string, unknown>>
  spelling: Spelling
}

const maxMails = 100
const sessionSeconds = 3_600

/** POST /token?grant_type=password. */
export async function answerPassword(project: Project, { query, fields, spelling }: ProjectCall): Promise<Answer> {
  const { email, password } = fields
  const no = (code: Code) => refuse(code, spelling, true)
  if (query.get("grant_type") !== "password") return no("invalid_credentials")
  if (typeof email !== "string" || email === "" || typeof password !== "string") return no("validation_failed")
  // The real one hands it to a database that keeps no such text.
  if (email.includes("\0")) return refuse("unexpected_failure", spelling)
  const person = project.people.find(email)
  if (person === undefined) return no("invalid_credentials")
  if (person.isBanned) return no("user_banned")
  if (!project.people.hasPassword(person, password)) return no("invalid_credentials")
  if (person.confirmedAtMs === null && !person.isAnonymous) return no("email_not_confirmed")
  return answerSession(project, person, "password")
}

/** POST /otp. Its answer tells who is known, unless it makes people. */
export function answerOtp(project: Project, { query, fields, spelling }: ProjectCall): Answer {
  const { email, create_user: mayCreate = true } = fields
  if (typeof email !== "string" || !/^[^@\s]+@[^@\s]+$/.test(email)) return refuse("validation_failed", spelling)
  const known = project.people.find(email)
  if (known === undefined && mayCreate !== true) return refuse("otp_disabled", spelling)
  if (known === undefined && project.settings.isSignupDisabled) return refuse("signup_disabled", spelling)
  if (project.settings.mailsLeft <= 0) return refuse("over_email_send_rate_limit", spelling)
  project.settings.mailsLeft -= 1
  sendLink(project, known ?? project.people.put({ email }), query.get("redirect_to"))
  return { status: 200, body: {} }
}

/**
 * POST /verify {type, token_hash}: type "email" for whoever it is, "magiclink" for people who were confirmed before.
 * Looks first and takes the link last, as the real one does: whoever asks at the same moment is answered too.
 */
export async function answerVerify(project: Project, { fields, spelling }: ProjectCall): Promise<Answer> {
  const { type, token_hash: tokenHash } = fields
  if (typeof tokenHash !== "string" || typeof type !== "string") return refuse("validation_failed", spelling)
  const person = project.people.findByLink(tokenHash)
  if (person === undefined || (type !== "email" && type !== person.link?.type)) return refuse("otp_expired", spelling)
  if (person.isBanned) return { ...refuse("user_banned", spelling), status: 403 }
  const confirmedAtMs = person.isAnonymous ? null : (person.confirmedAtMs ?? project.clock.nowMs())
  const answer = await answerSession(project, { ...person, confirmedAtMs }, "otp")
  person.confirmedAtMs = confirmedAtMs
  person.link = null
  return answer
}

/** GET /verify?token&type&redirect_to, where the provider's own mails lead: a scanner that opens it takes the link. */
export async function answerVerifyLink(project: Project, { query, spelling }: ProjectCall): Promise<Answer> {
  const fields = { type: query.get("type"), token_hash: query.get("token") }
  const { status } = await answerVerify(project, { query, fields, spelling })
  const fragment = status === 200 ? "access_token=taken" : "error=access_denied&error_code=otp_expired"
  return { status: 303, body: {}, location: `${redirectOf(project, query.get("redirect_to"))}#${fragment}` }
}

/** POST /signup: a person with a password, who is sent a link. It says the same for an address that is known. */
export function answerSignup(project: Project, { query, fields, spelling }: ProjectCall): Answer {
  const { email, password } = fields
  if (project.settings.isSignupDisabled) return refuse("signup_disabled", spelling)
  if (typeof email !== "string" || typeof password !== "string") return refuse("validation_failed", spelling)
  const known = project.people.find(email)
  if (known?.confirmedAtMs != null) return { status: 200, body: { id: randomUUID(), email, aud: "authenticated" } }
  // The password of somebody who is not confirmed stays what it was: either could be the stranger.
  const person = known ?? project.people.put({ email, password })
  sendLink(project, person, query.get("redirect_to"))
  return { status: 200, body: userOf(person) }
}

/** GET /user: whose the session is. */
export function answerUser({ sessions }: Project, { spelling }: ProjectCall, sessionId: string | undefined): Answer {
  if (sessionId === undefined) return refuse("no_authorization", spelling)
  const person = sessions.get(sessionId)
  return person === undefined ? refuse("session_not_found", spelling) : { status: 200, body: userOf(person) }
}

async function answerSession(project: Project, person: ProjectPerson, method: "password" | "otp"): Promise<Answer> {
  const iat = Math.floor(project.clock.nowMs() / 1000)
  const sessionId = randomUUID()
  const accessToken = await project.keys.sign({
    iss: project.issuer,
    sub: person.id,
    aud: "authenticated",
    exp: iat + sessionSeconds,
    iat,
    email: person.email,
    phone: "",
    app_metadata: { provider: "email", providers: ["email"] },
    user_metadata: metadataOf(person),
    role: "authenticated",
    aal: "aal1",
    amr: [{ method, timestamp: iat }],
    session_id: sessionId,
    is_anonymous: person.isAnonymous,
  })
  project.sessions.set(sessionId, person)
  return {
    status: 200,
    body: {
      access_token: accessToken,
      token_type: "bearer",
      expires_in: sessionSeconds,
      expires_at: iat + sessionSeconds,
      refresh_token: randomBytes(9).toString("base64url"),
      user: userOf(person),
    },
  }
}

function userOf(person: ProjectPerson) {
  const confirmed = person.confirmedAtMs === null ? undefined : new Date(person.confirmedAtMs).toISOString()
  return {
    id: person.id,
    aud: "authenticated",
    role: "authenticated",
    email: person.email,
    email_confirmed_at: confirmed,
    phone: "",
    confirmed_at: confirmed,
    app_metadata: { provider: "email", providers: ["email"] },
    user_metadata: metadataOf(person),
    is_anonymous: person.isAnonymous,
    ...(person.isBanned ? { banned_until: "2999-01-01T00:00:00Z" } : {}),
  }
}

const metadataOf = ({ confirmedAtMs, name }: ProjectPerson) => ({
  email_verified: confirmedAtMs !== null,
  ...(name === null ? {} : { full_name: name }),
})

function sendLink(project: Project, person: ProjectPerson, redirectTo: string | null): void {
  const { tokenHash, type } = project.people.issueLink(person)
  const link = new URL(redirectOf(project, redirectTo))
  link.searchParams.set("token_hash", tokenHash)
  link.searchParams.set("type", "email")
  project.outbox.push({ to: person.email, link: link.href, tokenHash, type })
  if (project.outbox.length > maxMails) project.outbox.shift()
}

/** Where nothing is asked for, or what is not allowed, the link leads to the site, and nobody is told. */
function redirectOf({ settings }: Project, redirectTo: string | null): string {
  const [site = "http://localhost"] = settings.redirectUris
  return settings.redirectUris.some((allowed) => redirectTo?.startsWith(allowed)) ? (redirectTo ?? site) : site
}
