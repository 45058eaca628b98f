// The notes, read at the edge, where a logout counts within two seconds: each isolate asks the auth service what was
// revoked, at most once a second. A key-value store would be late by a minute, so it holds the issuer's keys alone, which
// serve on while the issuer is down.
import {
  createIntrospection,
  createKeySet,
  createKeyValueCache,
  createRevocationFeed,
  createServiceToken,
  type KeyValueStore,
  type Requirement,
  webTokenCrypto,
} from "@signet/guard"
import { createEdgeGuard } from "@signet/guard/edge"
import { guardFetch } from "@signet/guard/fetch"

export interface Env {
  readonly ISSUER: string
  /** The app whose tokens are accepted: `app_…`. */
  readonly APP_ID: string
  /** Where the issuer answers. */
  readonly AUTH_URL: string
  readonly CLIENT_ID: string
  /** A secret binding. */
  readonly CLIENT_SECRET: string
  /** For the issuer's keys alone: whoever writes there can make tokens. */
  readonly KEYS: KeyValueStore
}

const readsNotes: Requirement = { is: "scope", scope: "notes.read" }
/** Nothing here is read on the strength of what was true ten seconds ago. */
const strict: Requirement = { ...readsNotes, freshness: { maxStalenessMs: 10_000, onStale: "INTROSPECT" } }

function createNotes(env: Env) {
  const { ISSUER: issuer, APP_ID: appId, AUTH_URL, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, KEYS } = env
  const clock = { nowMs: () => Date.now() }
  const own = { fetch: (...of: Parameters<typeof fetch>) => fetch(...of), clock }
  const token = createServiceToken({
    ...own,
    url: `${AUTH_URL}/auth/token`,
    clientId,
    clientSecret,
    audience: "auth",
    scope: "auth.revocations.read auth.introspect",
  })
  const revocations = createRevocationFeed({
    ...own,
    issuer,
    baseUrl: AUTH_URL,
    statementKeys: createKeySet({
      ...own,
      url: `${AUTH_URL}/.well-known/statement-keys.json`,
      crypto: webTokenCrypto,
      cache: createKeyValueCache(KEYS, "statement-keys"),
    }),
    token,
    askEveryMs: 1_000,
  })
  const guard = createEdgeGuard({
    ...own,
    issuer,
    audience: "svc-notes",
    appId,
    jwksUrl: `${AUTH_URL}/.well-known/jwks.json`,
    cache: createKeyValueCache(KEYS),
    revocations,
    introspect: createIntrospection({ ...own, url: `${AUTH_URL}/auth/token/introspect`, token }),
  })
  return guardFetch({ guard, requirement: strict, path: "/notes" }, async () => Response.json(["by Ada"]))
}

// One guard an isolate: what it knows of revocations is worth keeping.
let notes: ReturnType<typeof createNotes> | undefined

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    notes ??= createNotes(env)
    return notes(request)
  },
}
