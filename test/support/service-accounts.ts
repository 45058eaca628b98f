// A server whose administrator creates service accounts, for stories about them.
import { ClientAuthMethod, type ServiceAccount } from "@signet/proto/auth/v1/service_account_service"
import { expect } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "./clients.ts"
import { type SignedInPerson, signIn } from "./people.ts"
import type { StoreKind } from "./postgres.ts"
import { startTestServer, type TestServer } from "./server.ts"

export const daySeconds = 86_400
export const rights = ["auth.service_accounts.read", "auth.service_accounts.write"]
/** The request that creates an account. */
export const request = {
  name: "mailer",
  authMethods: [ClientAuthMethod.CLIENT_SECRET_POST],
  allowedAudiences: ["svc-notes", "auth"],
  scopes: ["notes.read", "notes.write"],
  defaultScopes: ["notes.read"],
}
/** Changes `request`: the account authenticates with a key of its own. */
export const keyed = { authMethods: [ClientAuthMethod.PRIVATE_KEY_JWT] }

export type ServiceAccountWorld = Awaited<ReturnType<typeof startServiceAccounts>>

export async function startServiceAccounts(store: StoreKind) {
  const server = await startTestServer({ store })
  const connect = clientsOver(transportOf("Connect JSON over HTTP/1.1", server))
  const person = (options = {}): Promise<SignedInPerson> => signIn(server, connect, `person ${Math.random()}`, options)
  const admin = await person({ scopes: rights })
  const asAdmin = () => bearer(admin.token)
  const make = async (clients: Clients = connect, change: object = {}): Promise<ServiceAccount> => {
    const { serviceAccount } = await clients.services.createServiceAccount({ ...request, ...change }, asAdmin())
    if (serviceAccount === undefined) throw new Error("no account")
    return serviceAccount
  }
  return {
    server,
    connect,
    admin,
    person,
    asAdmin,
    make,
    show: (serviceAccountId: string, clients: Clients = connect) =>
      clients.services.getServiceAccount({ serviceAccountId }, asAdmin()),
    async tokenOf(clientId: string, clientSecret: string, audience = "svc-notes"): Promise<string> {
      const asked = { grantType: "client_credentials", clientId, clientSecret, audience }
      return (await connect.tokens.token(asked)).accessToken
    },
    /** The kinds of the account's audit events. Expects the administrator as the actor of each. */
    async kindsOf(principalId: string): Promise<string[]> {
      const query = server.store.db.selectFrom("audit_event").select(["kind", "actor_principal_id", "session_id"])
      const rows = await query
        .where("subject_principal_id", "=", principalId as never)
        .where("kind", "like", "service_account.%" as never)
        .orderBy("id")
        .execute()
      for (const row of rows) expect(row).toMatchObject({ actor_principal_id: admin.principalId })
      return rows.map((row) => row.kind)
    },
    async serviceWithSecret() {
      const { id, clientId } = await make()
      const { secret } = await connect.services.addSecret({ serviceAccountId: id }, asAdmin())
      return { id, clientId, secret }
    },
    post: (path: string, body: object) =>
      fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { ...asAdmin().headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
  }
}

export function transportOf(protocol: string, { url }: TestServer) {
  const transport = protocols[protocol]
  if (!transport) throw new Error(protocol)
  return transport(url)
}

/** The reason for which a call is refused. */
export const reasonOf = async (call: Promise<unknown>) => (await refusal(call)).split(" ").at(-1)
