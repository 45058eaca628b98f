// Token introspection (RFC 7662) at the issuer, for requirements that need fresher facts than the revocation feed's.
import type { AuthContext } from "@signet/kernel/authz/context"
import type { Liveness } from "@signet/kernel/authz/liveness"
import type { LivenessFacts } from "@signet/kernel/authz/liveness-ports"
import { noVersions } from "@signet/kernel/authz/versions"
import type { Clock } from "@signet/kernel/ports"
import { contextTokenType } from "@signet/kernel/token/grant"
import { fetchText } from "./fetch-text.ts"
import { type ServiceToken, withToken } from "./service-token.ts"
import { createSharedRun } from "./shared-run.ts"

/** Asks the issuer whether a token is active. Throws if it does not answer. */
export type Introspect = (context: AuthContext, token: string) => Promise<Liveness>

export interface IntrospectionOptions {
  /** The issuer's introspection endpoint. Configured, never from a request or a token. */
  readonly url: string
  /** This service's own access token for the issuer, with the scope `auth.introspect`. */
  readonly token: ServiceToken
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** 2,000 ms. */
  readonly timeoutMs?: number
}

export function createIntrospection(options: IntrospectionOptions): Introspect {
  const { url, clock, timeoutMs = 2_000 } = options
  const limits = { timeoutMs, maxBytes: 65_536 }
  const shared = createSharedRun<Liveness>(clock, timeoutMs)

  async function ask(context: AuthContext, token: string): Promise<Liveness> {
    // Taken before the request: changes during it may be missing from the response.
    const asOfMs = clock.nowMs()
    const asked = new URLSearchParams({ token })
    if (context.method === "ACTOR_ENVELOPE") asked.set("token_type_hint", contextTokenType)
    const body = asked.toString()
    const text = await withToken(options.token, (own) => {
      const headers = { authorization: `Bearer ${own}`, "content-type": "application/x-www-form-urlencoded" }
      return fetchText(options.fetch, url, limits, { method: "POST", headers, body })
    })
    return { facts: isActive(JSON.parse(text), context) ? alive : ended, asOfMs }
  }

  return (context, token) => shared(token, () => ask(context, token))
}

/** @throws Error if the response is malformed or about another token. */
function isActive(answer: unknown, { tokenId }: AuthContext): boolean {
  if (typeof answer !== "object" || answer === null || !("active" in answer)) throw new Error("no introspection answer")
  if (answer.active === false) return false
  if (answer.active !== true || !("jti" in answer) || answer.jti !== tokenId) {
    throw new Error("the introspection response is not about this token")
  }
  return true
}

const alive: LivenessFacts = {
  principal: "ACTIVE",
  actor: "ACTIVE",
  identity: "ACTIVE",
  session: { status: "ACTIVE", idleExpiresAtMs: Number.MAX_VALUE, absoluteExpiresAtMs: Number.MAX_VALUE },
  membership: "ACTIVE",
  app: "ACTIVE",
  tenant: "ACTIVE",
  context: "ACTIVE",
  revoked: [],
  minimum: noVersions,
  current: null,
}

/** The issuer does not give a reason. */
const ended: LivenessFacts = { ...alive, revoked: ["TOKEN"] }
