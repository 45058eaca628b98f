// The notes, read at the edge. Keys come from memory for a minute, from a KV namespace for an hour, then from the issuer.
import { createKeyValueCache, type KeyValueStore, type Requirement } from "@signet/guard"
import { createEdgeGuard } from "@signet/guard/edge"
import { guardFetch } from "@signet/guard/fetch"

export interface Env {
  readonly ISSUER: string
  /** The app whose tokens are accepted: `app_…`. */
  readonly APP_ID: string
  readonly JWKS_URL: string
  /** For the issuer's keys alone: whoever writes there can make tokens. */
  readonly KEYS: KeyValueStore
  readonly NOTES: KeyValueStore
}

/** The same that ListNotes asks for in notes.proto; the tenant is in the path here. */
const readsNotes: Requirement = {
  is: "allOf",
  of: [
    { is: "scope", scope: "notes.read" },
    { is: "tenant", from: "PATH", field: "tenant_id" },
  ],
}

function createNotes(env: Env) {
  const guard = createEdgeGuard({
    issuer: env.ISSUER,
    audience: "svc-notes",
    appId: env.APP_ID,
    jwksUrl: env.JWKS_URL,
    fetch: (input, init) => fetch(input, init),
    clock: { nowMs: () => Date.now() },
    cache: createKeyValueCache(env.KEYS),
  })
  const path = "/tenants/{tenant_id}/notes"
  return guardFetch({ guard, requirement: readsNotes, path }, async (_, { path }, { NOTES }: Env) => {
    const notes = await NOTES.get(path.get("tenant_id") ?? "")
    return new Response(notes ?? "[]", { headers: { "content-type": "application/json" } })
  })
}

// One guard an isolate: its caches are worth keeping.
let notes: ReturnType<typeof createNotes> | undefined

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    notes ??= createNotes(env)
    return notes(request, env)
  },
}
