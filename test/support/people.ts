// Users of a test server with scopes as an administrator would assign them.
import type { ContextId, PrincipalId, TenantId } from "@signet/kernel/ids"
import { newId } from "@signet/kernel/ids"
import type { App } from "@signet/kernel/records"
import type { Clients } from "./clients.ts"
import { openPlace } from "./places.ts"
import type { TestServer } from "./server.ts"

export interface SignedInPerson {
  /** An access token for the auth service. */
  readonly token: string
  readonly tokens: Readonly<Record<string, string>>
  readonly refreshToken: string
  readonly principalId: PrincipalId
  readonly sessionId: string
}

interface Options {
  /** Scopes besides the app's defaults. */
  scopes?: readonly string[]
  tenantId?: TenantId
  contextId?: ContextId
  audiences?: readonly string[]
  app?: App
}

/** Signs a user in. If scopes are needed, assigns them to the new user and signs in again. */
export async function signIn(
  server: TestServer,
  clients: Clients,
  subject: string,
  { scopes = [], tenantId, contextId, audiences = ["auth"], app = server.app }: Options = {},
): Promise<SignedInPerson> {
  const request = async () => ({ ...(await server.login(subject)), appId: app.id, audiences: [...audiences] })
  let answer = await clients.auth.externalLogin(await request())
  const principalId = answer.principal?.id as PrincipalId
  if (scopes.length > 0 || tenantId !== undefined || contextId !== undefined) {
    const place = { tenantId: tenantId ?? null, contextId: contextId ?? null }
    await openPlace(server.deps.store, { appId: app.id, ...place })
    await server.deps.store.transaction(async (tx) => {
      const [own] = await tx.identities.findMemberships(principalId, app.id)
      if (own === undefined) throw new Error("no membership")
      if (tenantId === undefined && contextId === undefined) return
      const id = newId("mem", server.deps.clock.nowMs(), server.deps.random.bytes(10))
      await tx.identities.insertMembership({ ...own, ...place, id, scopes })
    })
    if (tenantId === undefined && contextId === undefined) {
      await server.store.db.updateTable("membership").set({ scopes }).where("principal_id", "=", principalId).execute()
    }
    const asked = { tenantId: tenantId ?? "", contextId: contextId ?? "" }
    answer = await clients.auth.externalLogin({ ...(await request()), ...asked })
  }
  const tokens = answer.accessTokens
  return {
    token: tokens.auth ?? "",
    tokens,
    refreshToken: answer.refreshToken,
    principalId,
    sessionId: answer.session?.id ?? "",
  }
}

/** The unverified claims of a token. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())
}
