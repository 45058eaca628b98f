// A server with two apps, each with clients of every provider on every platform, over REST.
import { randomBytes } from "node:crypto"
import { type AppId, newId } from "@signet/kernel/ids"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { App, Platform, Provider, ProviderClient } from "@signet/kernel/records"
import { type FakeIdpB, startFakeIdpB } from "./idp-b.ts"
import { type FakeIdpC, startFakeIdpC } from "./idp-c.ts"
import { startTestServer, type TestServer, type TestServerOptions } from "./server.ts"

export const platforms = ["WEB", "ANDROID", "IOS"] as const
export const redirectUri = "https://notes.example/signed-in"
export const password = "correct horse battery staple"

/** A REST response: a sign-in or a problem document. */
export interface Answer {
  status: number
  headers: Headers
  reason?: string
  detail?: string
  metadata?: Record<string, string>
  accessToken?: string
  refreshToken?: string
  deviceToken?: string
  created?: boolean
  identity?: { id: string; primaryEmail?: string; status?: string }
  principal?: { id: string }
  session?: { id: string }
  membership?: { id: string; appId: string; tenantId?: string; profile?: { name?: string; email?: string } }
}

export interface SignInWorld {
  readonly server: TestServer
  readonly idpB: FakeIdpB
  readonly idpC: FakeIdpC
  readonly app: App
  /** Has its own clients at every provider. */
  readonly otherApp: App
  /** Posts JSON, or a string `body` unchanged. */
  post(path: string, body: object): Promise<Answer>
  get(path: string, token: string): Promise<Record<string, unknown> & { reason?: string }>
  /** A sign-in by ID token with the audience of the app's client for the platform. */
  signInA(subject: string, change?: SignInChange): Promise<Answer>
  signInB(subject: string, change?: SignInChange): Promise<Answer>
  signInC(email: string, change?: { password?: string; body?: object }): Promise<Answer>
  startLink(email: string, body?: object): Promise<Answer>
  /** The token hash of the newest mail to the address. */
  linkOf(email: string): string
  confirmLink(tokenHash: string, body?: object): Promise<Answer>
  clientOf(appId: AppId, provider: Provider, platform: Platform): Promise<ProviderClient>
  changeClient(client: ProviderClient, change: Partial<ProviderClient>): Promise<void>
  changeApp(app: App, change: Partial<App["settings"]>): Promise<void>
  /** Kinds and reasons of the audit events since the last call, oldest first. */
  audited(): Promise<{ kind: string; reason: string | null }[]>
  close(): Promise<void>
}

interface SignInChange {
  platform?: Platform
  app?: App
  claims?: Record<string, unknown>
  body?: object
}

export async function startSignInWorld(options: TestServerOptions): Promise<SignInWorld> {
  const server = await startTestServer(options)
  const { store } = server.store
  const { clock } = server.deps
  const idpB = await startFakeIdpB({ clock, secrets: server.secrets })
  const idpC = await startFakeIdpC({ clock, secrets: server.secrets })
  const fresh = <K extends "app" | "pcl">(kind: K) => newId(kind, clock.nowMs(), randomBytes(10))
  const otherApp: App = { ...server.app, id: fresh("app"), name: "Draw" }
  const { app } = server

  const clientsOf = (of: App, name: string): ProviderClient[] =>
    platforms.flatMap((platform) => {
      const of_ = { appId: of.id, platform }
      const aId = `${name}-${platform.toLowerCase()}`
      const cId = fresh("pcl")
      const b = idpB.clientOf(platform)
      const bId = name === "notes" ? b.clientId : `${b.clientId}.${name}`
      return [
        { ...server.client, ...of_, id: fresh("pcl"), clientId: aId, audiences: [aId], authorizedParties: [aId] },
        { ...b, ...of_, id: fresh("pcl"), clientId: bId, audiences: [bId], clientSecretSealed: null },
        {
          ...idpC.clientOf(platform),
          ...of_,
          id: cId,
          clientSecretSealed: server.secrets.seal(clientSecretLabel(cId), new TextEncoder().encode(idpC.secretKey)),
        },
      ]
    })
  server.idp.clientIds.push("notes-android", "notes-ios")
  const clients = [...clientsOf(app, "notes"), ...clientsOf(otherApp, "draw")]
  await store.transaction(async (tx) => {
    await tx.apps.putApp(otherApp)
    // Disables the server's own client in favor of the one created here.
    const moved: ProviderClient = { ...server.client, appId: app.id, status: "DISABLED" }
    await tx.apps.putProviderClient(moved)
    for (const client of clients) {
      const isTaken = client.appId === app.id && client.provider === "IDP_A" && client.platform === "WEB"
      await tx.apps.putProviderClient(isTaken ? { ...client, id: server.client.id } : client)
    }
  })

  let audits = 0
  let uses = 0
  const world: SignInWorld = {
    server,
    idpB,
    idpC,
    app,
    otherApp,
    async post(path, body) {
      const response = await fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      })
      const text = await response.text()
      await server.deps.background.settled()
      return { ...(text === "" ? {} : JSON.parse(text)), status: response.status, headers: response.headers }
    },
    async get(path, token) {
      const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })
      return await response.json()
    },
    async signInA(subject, { platform = "WEB", app: of = app, claims = {}, body = {} } = {}) {
      const { clientId } = await world.clientOf(of.id, "IDP_A", platform)
      const usual = { sub: subject, aud: clientId, azp: clientId, jti: `a-${++uses}` }
      const idToken = await server.idp.mint({ claims: { ...usual, ...claims } })
      return world.post("/auth/login/idp-a", { appId: of.id, platform, nonce: "n-1", idToken, ...body })
    },
    async signInB(subject, { platform = "WEB", app: of = app, claims = {}, body = {} } = {}) {
      const { clientId } = await world.clientOf(of.id, "IDP_B", platform)
      const usual = { sub: subject, aud: clientId, jti: `b-${++uses}` }
      const idToken = await idpB.mint({ platform, claims: { ...usual, ...claims } })
      return world.post("/auth/login/idp-b", { appId: of.id, platform, nonce: "n-1", idToken, ...body })
    },
    signInC: (email, { password: typed = password, body = {} } = {}) =>
      world.post("/auth/login/email", { appId: app.id, platform: "WEB", email, password: typed, ...body }),
    startLink: (email, body = {}) =>
      world.post("/auth/magic-link/start", { appId: app.id, platform: "WEB", email, redirectUri, ...body }),
    linkOf(email) {
      const mail = idpC.mails().findLast(({ to }) => to === email)
      if (mail === undefined) throw new Error(`no mail to ${email}`)
      return mail.tokenHash
    },
    confirmLink: (tokenHash, body = {}) =>
      world.post("/auth/magic-link/confirm", { appId: app.id, platform: "WEB", tokenHash, ...body }),
    async clientOf(appId, provider, platform) {
      const [client] = await store.transaction((tx) => tx.apps.findConnections(appId, provider, platform))
      if (client === undefined) throw new Error(`no client of ${provider} on ${platform}`)
      return client
    },
    changeClient: (client, change) => store.transaction((tx) => tx.apps.putProviderClient({ ...client, ...change })),
    changeApp: (of, change) =>
      store.transaction(async (tx) => {
        const app = (await tx.apps.findApp(of.id)) ?? of
        await tx.apps.putApp({ ...app, settings: { ...of.settings, ...change } })
      }),
    async audited() {
      const rows = await server.store.db
        .selectFrom("audit_event")
        .select(["kind", "reason"])
        .orderBy("occurred_at")
        .orderBy("id")
        .execute()
      const newest = rows.slice(audits)
      audits = rows.length
      return newest
    },
    async close() {
      await Promise.all([server.close(), idpB.stop(), idpC.stop()])
    },
  }
  return world
}
