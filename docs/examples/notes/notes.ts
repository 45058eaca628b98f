// A notes service in Connect. What each method asks of its callers stands in notes.proto, and nowhere in here.
import { Code, ConnectError, type ConnectRouter, type ConnectRouterOptions } from "@connectrpc/connect"
import { createGuard, createKeySet } from "@signet/guard"
import { createConnectGuard, kAuth } from "@signet/guard/connect"
import { nodeTokenCrypto } from "@signet/guard/node"
import { NotesService } from "./notes_pb.ts"

export interface NotesOptions {
  /** The `iss` of the tokens that are taken. */
  readonly issuer: string
  /** The app whose tokens are accepted: `app_…`. */
  readonly appId: string
  readonly jwksUrl: string
  readonly fetch: typeof fetch
  readonly clock: { nowMs(): number }
}

/** For connectNodeAdapter({ routes, ...router }) and its like. */
export function createNotes(options: NotesOptions): {
  readonly router: ConnectRouterOptions
  readonly routes: (router: ConnectRouter) => void
} {
  const keySet = createKeySet({ ...options, url: options.jwksUrl, crypto: nodeTokenCrypto })
  const guard = createGuard({ ...options, audience: "svc-notes", keySet, crypto: nodeTokenCrypto })
  const { gate, interceptor } = createConnectGuard({ guard, services: [NotesService] })
  const notes = new Map<string, string[]>()

  return {
    // The gate refuses a call without a valid token before its body is read.
    router: { requestGate: gate, interceptors: [interceptor] },
    routes(router) {
      router.service(NotesService, {
        listNotes: ({ tenantId }) => ({ notes: notes.get(tenantId) ?? [] }),
        addNote({ text }, { values }) {
          const tenantId = values.get(kAuth)?.tenantId
          if (!tenantId) throw new ConnectError("a token of a tenant is needed", Code.FailedPrecondition)
          notes.set(tenantId, [...(notes.get(tenantId) ?? []), text])
          return {}
        },
      })
    },
  }
}
