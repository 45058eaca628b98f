// Another service with its own notes: it verifies svc-notes' tokens itself and fetches callers' permissions.
import { guardFetch } from "@signet/guard/fetch"
import { createGuard } from "@signet/guard/guard"
import { createKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { createPermissionSnapshots, type SnapshotCache } from "@signet/guard/permissions/snapshots"
import { createServiceToken } from "@signet/guard/service-token"
import type { ResourceRef } from "@signet/kernel/authz/grants"
import { addMachine, type Machine } from "./machines.ts"
import type { TestServer } from "./server.ts"

export const editNote = "notes.note.edit"
export const snapshotScope = "auth.permissions.read"

export interface NotesService {
  /** Edits a note. Returns the status, and the reason of a refusal. */
  edit(token: string, noteId: string): Promise<readonly [number, string?]>
  /** URLs of requests for snapshots. */
  readonly asked: string[]
}

/** An account that may fetch permissions, and an app whose scope `notes.write` allows them. */
export async function addNotesAccount(server: TestServer, app = server.app): Promise<Machine> {
  const { store, authAudience } = server.deps
  await store.transaction(async (tx) => {
    const there = (await tx.apps.findApp(app.id)) ?? app
    const scopes = there.scopes
      .filter(({ key }) => key !== snapshotScope)
      .map((scope) => (scope.key === "notes.write" ? { ...scope, permissions: [editNote] } : scope))
    const own = { key: snapshotScope, audience: authAudience, isDefault: false }
    await tx.apps.putApp({ ...there, scopes: [...scopes, own] })
  })
  return addMachine(server, { appId: app.id, allowedAudiences: [authAudience], scopes: [snapshotScope] })
}

export function startNotes(
  server: TestServer,
  { account, secret }: Machine,
  notes: readonly ResourceRef[],
  cache?: SnapshotCache,
): NotesService {
  const { issuer, clock, authAudience } = server.deps
  const asked: string[] = []
  const keysAt = (name: string) =>
    createKeySet({ url: `${server.url}/.well-known/${name}.json`, crypto: nodeTokenCrypto, clock, fetch })
  const token = createServiceToken({
    url: `${server.url}/auth/token`,
    clientId: account.clientId,
    clientSecret: secret,
    audience: authAudience,
    scope: snapshotScope,
    fetch,
    clock,
  })
  const permissions = createPermissionSnapshots({
    issuer,
    baseUrl: server.url,
    statementKeys: keysAt("statement-keys"),
    token,
    clock,
    fetch: (input, init) => {
      asked.push(String(input))
      return fetch(input, init)
    },
    ...(cache === undefined ? {} : { cache }),
  })
  const guard = createGuard({
    issuer,
    audience: "svc-notes",
    appId: account.appId,
    keySet: keysAt("jwks"),
    clock,
    permissions,
  })
  const handler = guardFetch(
    {
      guard,
      path: "/notes/{note_id}",
      requirement: { is: "resourceAction", action: editNote, type: "note", from: "PATH", field: "note_id" },
      findResource: async (_, id) => notes.find((note) => note.id === id),
    },
    () => new Response(null, { status: 204 }),
  )
  return {
    asked,
    async edit(bearer, noteId) {
      const headers = { authorization: `Bearer ${bearer}` }
      const answer = await handler(new Request(`https://notes.example/notes/${noteId}`, { method: "PUT", headers }))
      return answer.status === 204 ? [204] : [answer.status, JSON.parse(await answer.text()).reason]
    },
  }
}
