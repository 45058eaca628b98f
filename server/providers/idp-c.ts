// IDP_C: a hosted backend that signs users in by email and password, or by magic link. Its secret key and its tokens
// are sent only to the project.
import { isServerAddress } from "@signet/kernel/administration/address"
import { Refused } from "@signet/kernel/errors"
import { isText } from "@signet/kernel/identity/claim"
import {
  isFirstConfirmed,
  judgeEmailSession,
  judgePresentedSession,
  sessionTokenProblem,
} from "@signet/kernel/identity/email-session"
import type { EmailProvider, PasswordGuard, Vouched } from "@signet/kernel/identity/provider-ports"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { base64url } from "jose"
import { type Fetch, type JsonAnswer, outbound, requestEffect, requestJson } from "./bounded-request.ts"
import { createCircuitBreaker } from "./circuit-breaker.ts"
import { openClientSecret } from "./code-exchange.ts"
import { signedPart } from "./id-token.ts"
import { isFromProject, type ProjectSession, readSent, readSession, readUser } from "./idp-c-answer.ts"
import { type ProjectTokenDeps, verifyProjectToken } from "./idp-c-token.ts"
import { createProviderKeys } from "./provider-keys.ts"
import { invalid } from "./signed-token.ts"

interface IdpCDeps {
  clock: Clock
  secrets: Pick<Secrets, "digest" | "open">
  /** Allows a project at a loopback address without TLS: for the development profile and tests. */
  isLoopbackAllowed: boolean
  /** Default: the platform's `fetch`. */
  fetch?: Fetch
  /** Reports a failure that does not fail the call, for the log. The error names no address and no token. */
  report?: (fault: Error) => void
}

/** The requested API version, which determines the format of errors. Older projects ignore it. */
const apiVersion = "2024-01-01"
/** Longer than a link is valid, in milliseconds. */
const linkUseMs = 86_400_000
/** Longer than an access token is accepted after its issue, in milliseconds. */
const sessionUseMs = 3_600_000

interface Project {
  /** `<project_url>/auth/v1`: the `iss` of its tokens. */
  issuer: string
  secretKey: string
}

export function createIdpC(deps: IdpCDeps): EmailProvider {
  const out = outbound(deps)
  const breaker = createCircuitBreaker(deps)
  const tokens: ProjectTokenDeps = {
    keys: createProviderKeys({ ...out, clock: deps.clock }),
    secrets: deps.secrets,
  }

  function ask({ issuer, secretKey }: Project, path: string, body: object): Promise<JsonAnswer> {
    const headers = headersOf(secretKey)
    const init = { method: "POST", headers, body: JSON.stringify(body) }
    return breaker.run(issuer, () => requestJson(out, issuer + path, init), isFromProject)
  }

  /** Judges a session that the project opened, and ends it in every case. */
  async function takeSession(
    client: ProviderClient,
    project: Project,
    session: ProjectSession,
    guard?: PasswordGuard,
  ): Promise<Vouched> {
    try {
      const claims = await verifyProjectToken(tokens, client, project.issuer, session.accessToken)
      const nowSeconds = Math.floor(deps.clock.nowMs() / 1000)
      const { issuer } = project
      const judgment = judgeEmailSession({ claims, user: session.user, client, issuer, nowSeconds })
      if (judgment.is === "refuse") throw new Refused(judgment.reason, { metadata: { claim: judgment.claim } })
      const { subject } = judgment.vouched
      const isFirst = isFirstConfirmed(claims, session.user)
      // A concurrent link may be replacing the password, so a sign-in by this password must wait.
      if (guard === undefined && isFirst) throw new Refused("EMAIL_NOT_VERIFIED", { metadata: { claim: confirmed } })
      await guard?.({ subject, isFirst }, () => replacePassword(project, session.accessToken))
      return judgment.vouched
    } finally {
      await signOut(project, session.accessToken)
    }
  }

  /**
   * Replaces the password by an unknown one, derived from a token that only this server has. An attacker who signed up
   * with another user's address has set its password, and the project keeps it when the owner confirms the address.
   */
  function replacePassword(project: Project, accessToken: string): Promise<boolean> {
    const unknown = base64url.encode(deps.secrets.digest(`password|${accessToken}`))
    return endWith(project, accessToken, { method: "PUT", path: "/user", body: { password: `${unknown}-aA1` } })
  }

  /**
   * Ends the session at the project. A failure is only reported: the user is authenticated, no client has the session's
   * tokens, and the project expires it.
   */
  async function signOut(project: Project, accessToken: string): Promise<void> {
    await endWith(project, accessToken, { method: "POST", path: "/logout?scope=local" })
  }

  /** Ends a session, or replaces a password, with the session's own token. @returns False after a reported failure. */
  async function endWith(
    { issuer, secretKey }: Project,
    accessToken: string,
    { method, path, body }: { method: string; path: string; body?: object },
  ): Promise<boolean> {
    // The platform's error for an invalid header would quote the token.
    if (!/^[\x21-\x7e]+$/.test(accessToken)) {
      deps.report?.(new Error("IDP_C returned a malformed token"))
      return false
    }
    const what = method === "PUT" ? "a password" : "a session"
    const headers = { ...headersOf(secretKey), authorization: `Bearer ${accessToken}` }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const end = () => requestEffect(out, issuer + path, init)
    const answer = await breaker.run(issuer, end, isFromProject).catch((fault: unknown) => {
      deps.report?.(new Error(`${what} of IDP_C could not be revoked`, { cause: fault }))
    })
    if (answer && answer.status >= 400)
      deps.report?.(new Error(`${what} of IDP_C could not be revoked: ${answer.status}`))
    return answer ? answer.status < 400 : false
  }

  return {
    async signIn(client, { email, password }) {
      const project = projectOf(deps, client)
      // No account has such an address or password, and the project would answer with an error.
      if (!isText(email, 320) || !isText(password, 1_024)) throw new Refused("INVALID_CREDENTIALS")
      const answer = await ask(project, "/token?grant_type=password", { email, password })
      return takeSession(client, project, readSession("password", answer))
    },

    async verifySession(client, accessToken) {
      const project = projectOf(deps, client)
      if (!/^[\x21-\x7e]{1,16384}$/.test(accessToken)) throw invalid("form")
      const { issuer } = project
      // Verified first, so that a forged token causes no request to the project.
      const claims = await verifyProjectToken(tokens, client, issuer, accessToken)
      const problem = sessionTokenProblem(claims, client)
      if (problem !== undefined) throw invalid(problem)
      const headers = { ...headersOf(project.secretKey), authorization: `Bearer ${accessToken}` }
      const ask = () => requestJson(out, `${issuer}/user`, { method: "GET", headers })
      const user = readUser(await breaker.run(issuer, ask, isFromProject))
      const nowSeconds = Math.floor(deps.clock.nowMs() / 1000)
      const judgment = judgePresentedSession({ claims, user, client, issuer, nowSeconds })
      if (judgment.is === "refuse") throw new Refused(judgment.reason, { metadata: { claim: judgment.claim } })
      const tokenHash = deps.secrets.digest(signedPart(accessToken))
      return { ...judgment.vouched, singleUse: { tokenHash, expiresAtMs: deps.clock.nowMs() + sessionUseMs } }
    },

    async sendMagicLink(client, { email, redirectUri, mayCreate }) {
      const project = projectOf(deps, client)
      if (!isText(email, 320)) return
      const query = new URLSearchParams({ redirect_to: redirectUri })
      const answer = await ask(project, `/otp?${query}`, { email, create_user: mayCreate })
      const silenced = readSent(answer, mayCreate)
      if (silenced !== undefined) deps.report?.(new Error(`IDP_C sent no magic link: ${silenced}`))
    },

    async confirmMagicLink(client, tokenHash, guard = replaceAtFirst) {
      const project = projectOf(deps, client)
      if (!/^[A-Za-z0-9_-]{8,256}$/.test(tokenHash)) throw new Refused("MAGIC_LINK_INVALID")
      // "email" works for known and for new users; "magiclink" only for known ones.
      const answer = await ask(project, "/verify", { type: "email", token_hash: tokenHash })
      const vouched = await takeSession(client, project, readSession("verify", answer), guard)
      // The project accepts concurrent uses of one link, so this server enforces a single use.
      const use = deps.secrets.digest(`${project.issuer}|${tokenHash}`)
      return { ...vouched, singleUse: { tokenHash: use, expiresAtMs: deps.clock.nowMs() + linkUseMs } }
    },
  }
}

const confirmed = "email_confirmed_at"

const replaceAtFirst: PasswordGuard = async ({ isFirst }, replace) => {
  if (isFirst) await replace()
}

/** Sends the key only in the gateway's header. As a bearer token it would have an administrator's rights. */
function headersOf(secretKey: string): Record<string, string> {
  return {
    accept: "application/json",
    "content-type": "application/json",
    apikey: secretKey,
    "x-supabase-api-version": apiVersion,
  }
}

/** @throws Refused PROVIDER_NOT_CONFIGURED if the address, reference or key is missing. */
function projectOf(deps: IdpCDeps, client: ProviderClient): Project {
  const issuer = client.projectUrl === null ? undefined : issuerOf(client.projectUrl, deps.isLoopbackAllowed)
  const secretKey = openClientSecret(deps.secrets, client)
  if (issuer === undefined || client.providerTenant === null) throw new Refused("PROVIDER_NOT_CONFIGURED")
  if (secretKey === undefined || !/^[\x21-\x7e]{1,2048}$/.test(secretKey)) throw new Refused("PROVIDER_NOT_CONFIGURED")
  return { issuer, secretKey }
}

/** The base URL of all calls; undefined for an address that is not allowed. */
export function issuerOf(projectUrl: string, isLoopbackAllowed: boolean): string | undefined {
  if (!isServerAddress(projectUrl, isLoopbackAllowed)) return undefined
  const { origin, pathname, search } = new URL(projectUrl)
  if (search !== "") return undefined
  return `${origin}${pathname.replace(/\/+$/, "")}/auth/v1`
}
