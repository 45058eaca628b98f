// A project of the stand-in for IDP_C: its answer to each call of the protocol, including the real one's defects.
import { randomBytes, randomUUID } from "node:crypto"
import type { Clock } from "@signet/kernel/ports"
import { type Answer, type Code, refuse, type Spelling } from "./idp-c-answers.ts"
import type { ProjectKeys } from "./idp-c-keys.ts"
import type { LinkType, ProjectPeople, ProjectPerson } from "./idp-c-people.ts"

export interface Mail {
  to: string
  /** As in the project's mail template: the requested page with `token_hash` and `type`. */
  link: string
  tokenHash: string
  type: LinkType
}

/** Settings that tests and developers may change at any time. */
interface ProjectSettings {
  spelling: Spelling
  /** The project accepts no new users. */
  isSignupDisabled: boolean
  /** Remaining numbers of mails and requests before the rate limit. */
  mailsLeft: number
  requestsLeft: number
  /** Prefixes of allowed link targets. Other targets are replaced by the first. */
  redirectUris: readonly string[]
}

export interface Project {
  readonly people: ProjectPeople
  readonly settings: ProjectSettings
  /** Newest last, at most a hundred. */
  readonly outbox: Mail[]
  /** Live sessions by id. */
  readonly sessions: Map<string, ProjectPerson>
  readonly keys: ProjectKeys
  readonly issuer: string
  readonly clock: Clock
}

/** The parts of a call. */
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
  // The real project passes it to a database that cannot store U+0000.
  if (email.includes("\0")) return refuse("unexpected_failure", spelling)
  const person = project.people.find(email)
  if (person === undefined) return no("invalid_credentials")
  if (person.isBanned) return no("user_banned")
  if (!project.people.hasPassword(person, password)) return no("invalid_credentials")
  if (person.confirmedAtMs === null && !person.isAnonymous) return no("email_not_confirmed")
  return answerSession(project, person, "password")
}

/** POST /otp. The answer reveals whether the address is known, unless users may be created. */
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
 * POST /verify {type, token_hash}: type "email" for any user, "magiclink" for confirmed users. Checks first and
 * consumes the link last, as the real project does, so concurrent calls can both succeed.
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

/**
 * GET /verify?token&type&redirect_to, the target of the provider's own mails: a mail scanner that opens it consumes the
 * link.
 */
export async function answerVerifyLink(project: Project, { query, spelling }: ProjectCall): Promise<Answer> {
  const fields = { type: query.get("type"), token_hash: query.get("token") }
  const { status } = await answerVerify(project, { query, fields, spelling })
  const fragment = status === 200 ? "access_token=taken" : "error=access_denied&error_code=otp_expired"
  return { status: 303, body: {}, location: `${redirectOf(project, query.get("redirect_to"))}#${fragment}` }
}

/**
 * POST /signup: creates a user with a password and sends a link. The answer does not reveal whether the address is
 * known.
 */
export function answerSignup(project: Project, { query, fields, spelling }: ProjectCall): Answer {
  const { email, password } = fields
  if (project.settings.isSignupDisabled) return refuse("signup_disabled", spelling)
  if (typeof email !== "string" || typeof password !== "string") return refuse("validation_failed", spelling)
  const known = project.people.find(email)
  if (known?.confirmedAtMs != null) return { status: 200, body: { id: randomUUID(), email, aud: "authenticated" } }
  // The password of an unconfirmed user is not changed: either caller could be the attacker.
  const person = known ?? project.people.put({ email, password })
  sendLink(project, person, query.get("redirect_to"))
  return { status: 200, body: userOf(person) }
}

/** GET /user: returns the session's user. */
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

/** Without a target, or with one that is not allowed, the link silently leads to the site. */
function redirectOf({ settings }: Project, redirectTo: string | null): string {
  const [site = "http://localhost"] = settings.redirectUris
  return settings.redirectUris.some((allowed) => redirectTo?.startsWith(allowed)) ? (redirectTo ?? site) : site
}
