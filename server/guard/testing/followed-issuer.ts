import type { Requirement } from "@signet/kernel/authz/requirement"
import type { LoggedRevocation } from "@signet/kernel/revocation/entry"
import { type RevocationStatement, statementClaims } from "@signet/kernel/revocation/statement"
import { createGuard } from "../guard.ts"
import { createIntrospection } from "../introspection.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { createRevocationFeed, type RevocationFeedOptions } from "../revocation/feed.ts"
import { createIssuer, encode, ids } from "./issuer.ts"

const running: { stop(): Promise<void> }[] = []

/** Stops all feeds that were created. */
export async function stopFollowing(): Promise<void> {
  for (const one of running.splice(0)) await one.stop()
}

/** An issuer with a revocation log that tests write, and a service that follows it. */
export function followedIssuer(options: Partial<RevocationFeedOptions> = {}) {
  const access = createIssuer()
  const statements = { ...createIssuer(), clock: access.clock }
  const { issuer, audience, clock } = access
  let log = { name: "log-a", head: 0, entries: [] as LoggedRevocation[] }
  let isDown = false
  let isCrowded = false
  let introspection: "active" | "inactive" | "down" = "down"
  let forge: (jws: string) => string = (jws) => jws
  const asked: string[] = []

  const sign = (of: RevocationStatement, header: object = {}, claims: object = {}) =>
    statements.signParts(
      encode({ alg: "ES256", typ: "rev+jwt", kid: statements.jwk.kid, ...header }),
      encode({ ...statementClaims(of), ...claims }),
    )
  const statement = (after: number, change: Partial<RevocationStatement> = {}): RevocationStatement => ({
    issuer,
    log: log.name,
    from: Math.min(after, log.head),
    to: log.head,
    head: log.head,
    asOfMs: clock.nowMs(),
    entries: log.entries.filter(({ seq }) => seq > after),
    ...change,
  })
  const fetcher: typeof fetch = async (input, init) => {
    const url = new URL(String(input))
    asked.push(`${url.pathname}${url.search}`)
    if (url.pathname === "/auth/token/introspect") {
      if (introspection === "down") throw new TypeError("fetch failed")
      const token = new URLSearchParams(String(init?.body)).get("token") ?? ""
      const { jti } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())
      return Response.json(introspection === "active" ? { active: true, jti } : { active: false })
    }
    if (isDown) throw new TypeError("fetch failed")
    if (isCrowded && Number(url.searchParams.get("wait")) > 0) return new Response(null, { status: 429 })
    return Response.json({ statement: forge(sign(statement(Number(url.searchParams.get("after"))))) })
  }
  const problems: string[] = []
  const feed = createRevocationFeed({
    issuer,
    baseUrl: issuer,
    statementKeys: createLocalKeySet(statements, nodeTokenCrypto),
    token: async () => "own",
    clock,
    fetch: fetcher,
    onProblem: (problem) => problems.push(problem),
    ...options,
  })
  running.push(feed)
  const guard = createGuard({
    issuer,
    audience,
    appId: access.appId,
    clock,
    crypto: nodeTokenCrypto,
    keySet: createLocalKeySet(access, nodeTokenCrypto),
    revocations: feed,
    introspect: createIntrospection({
      url: `${issuer}/auth/token/introspect`,
      token: async () => "own",
      fetch: fetcher,
      clock,
    }),
  })
  return {
    ...access,
    feed,
    statement,
    sign,
    problems,
    asked,
    async decide(token: string, requirement: Requirement = { is: "kinds", of: ["USER"] }) {
      const decision = await guard.authorize(await guard.authenticate(`Bearer ${token}`), requirement, {})
      return decision.allow ? "allow" : decision.reason
    },
    revoke(...entries: Partial<LoggedRevocation>[]) {
      for (const entry of entries) {
        log.head++
        const expiresAtMs = clock.nowMs() + 900_000
        log.entries.push({ seq: log.head, kind: "SESSION", key: ids.session, expiresAtMs, ...entry })
      }
    },
    restore(change: Partial<typeof log>) {
      log = { ...log, ...change }
    },
    crowd() {
      isCrowded = true
    },
    setDown(is: boolean) {
      isDown = is
    },
    setIntrospection(is: typeof introspection) {
      introspection = is
    },
    forge(how: typeof forge) {
      forge = how
    },
  }
}
