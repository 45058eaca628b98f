// A service in another process: it verifies svc-notes' tokens itself and follows the revocation feed.
import { createGuard, type Guard, type GuardOptions } from "@signet/guard/guard"
import { createIntrospection } from "@signet/guard/introspection"
import { createKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { createRevocationFeed, type FeedProblem, type RevocationFeed } from "@signet/guard/revocation/feed"
import { createServiceToken } from "@signet/guard/service-token"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { addMachine, type Machine } from "./machines.ts"
import type { TestServer } from "./server.ts"

export interface Follower {
  readonly guard: Guard
  readonly feed: RevocationFeed
  readonly problems: FeedProblem[]
  /** "allow", or the reason of the denial. */
  decide(token: string, requirement?: Requirement): Promise<string>
}

export const anybody: Requirement = { is: "kinds", of: ["USER", "SERVICE"], allowDelegated: true }

const readerScopes = ["auth.revocations.read", "auth.introspect"]

/** The notes service's account: it may read the feed and introspect tokens. */
export async function addReader(server: TestServer): Promise<Machine> {
  await server.deps.store.transaction(async (tx) => {
    const app = (await tx.apps.findApp(server.app.id)) ?? server.app
    const scopes = readerScopes.map((key) => ({ key, audience: server.deps.authAudience, isDefault: false }))
    await tx.apps.putApp({ ...app, scopes: [...app.scopes, ...scopes] })
  })
  return addMachine(server, { ownedAudiences: ["svc-notes"], allowedAudiences: ["auth"], scopes: readerScopes })
}

export function follow(
  server: TestServer,
  { account, secret }: Machine,
  options: Partial<Parameters<typeof createRevocationFeed>[0]> & { guard?: Partial<GuardOptions> } = {},
): Follower {
  const { issuer, clock, authAudience } = server.deps
  const { fetch = globalThis.fetch } = options
  const keysAt = (name: string) =>
    createKeySet({ url: `${server.url}/.well-known/${name}.json`, crypto: nodeTokenCrypto, clock, fetch })
  const token = createServiceToken({
    url: `${server.url}/auth/token`,
    clientId: account.clientId,
    clientSecret: secret,
    audience: authAudience,
    scope: readerScopes.join(" "),
    fetch: globalThis.fetch,
    clock,
  })
  const problems: FeedProblem[] = []
  const feed = createRevocationFeed({
    issuer,
    baseUrl: server.url,
    statementKeys: keysAt("statement-keys"),
    token,
    clock,
    fetch,
    onProblem: (problem) => problems.push(problem),
    ...options,
  })
  const guard = createGuard({
    issuer,
    audience: "svc-notes",
    appId: server.app.id,
    keySet: keysAt("jwks"),
    crypto: nodeTokenCrypto,
    clock,
    revocations: feed,
    introspect: createIntrospection({ url: `${server.url}/auth/token/introspect`, token, fetch, clock }),
    ...options.guard,
  })
  return {
    guard,
    feed,
    problems,
    async decide(bearer, requirement = anybody) {
      const decision = await guard.authorize(await guard.authenticate(`Bearer ${bearer}`), requirement, {})
      return decision.allow ? "allow" : decision.reason
    },
  }
}
