// A test server whose app has messaging, and users of it: for stories and attacks that also inspect the server.
import type { Transport } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import type { TenantId } from "@signet/kernel/ids"
import { clientsOver, protocols } from "../clients.ts"
import { signIn } from "../people.ts"
import { startTestServer, type TestServer, type TestServerOptions } from "../server.ts"
import type { SignedIn } from "./world.ts"

export interface MessagingServer extends TestServer {
  /** URL of messaging, which may be another program than the auth service. */
  readonly messagingUrl: string
  /** The transport of messengers' calls. */
  readonly transport: Transport
  /** A new session of a user over one fixed protocol: only the calls under test vary. */
  person(subject: string, options?: { tenantId?: TenantId; audience?: string }): Promise<SignedIn>
}

export async function startMessagingServer(options: TestServerOptions): Promise<MessagingServer> {
  const server = await startTestServer(options)
  const audience = options.messagingAudience ?? "auth"
  const scopes = ["messaging.read", "messaging.write"].map((key) => ({ key, audience, isDefault: true }))
  const app = {
    ...server.app,
    audiences: [...server.app.audiences, audience],
    scopes: [...server.app.scopes, ...scopes],
  }
  await server.store.store.transaction((tx) => tx.apps.putApp(app))
  const overConnect = protocols["Connect JSON over HTTP/1.1"]
  if (overConnect === undefined) throw new Error("no such protocol")
  const clients = clientsOver(overConnect(server.url))

  async function person(
    subject: string,
    { tenantId, audience: asked = audience }: { tenantId?: TenantId; audience?: string } = {},
  ): Promise<SignedIn> {
    const place = tenantId === undefined ? {} : { tenantId }
    const answer = await signIn(server, clients, subject, { audiences: [asked], app, ...place })
    let accessToken = answer.tokens[asked] ?? ""
    let { refreshToken } = answer
    return {
      userId: answer.principalId,
      get accessToken() {
        return accessToken
      },
      async refresh() {
        const next = await clients.auth.refresh({ refreshToken, audiences: [asked] })
        refreshToken = next.refreshToken
        accessToken = next.accessTokens[asked] ?? ""
        return accessToken
      },
      again: () => person(subject, { audience: asked, ...place }),
    }
  }
  return { ...server, messagingUrl: server.url, transport: createGrpcTransport({ baseUrl: server.url }), person }
}
