// The participants of the token endpoint's tests: a gateway that users call and that may act for them at svc-notes, the
// notes service itself, and an unrelated service that owns an audience but has no policy.
import { type IdentityId, type PrincipalId, parseId } from "@signet/kernel/ids"
import { bearer, type Clients, clientsOver, protocols } from "./clients.ts"
import { addMachine, addPolicy, basic, type FormAnswer, type Machine, postForm } from "./machines.ts"
import { startTestServer, type TestServer, type TestServerOptions } from "./server.ts"

export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
export const patTokenType = "urn:signet:params:oauth:token-type:pat"
export const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

export interface User {
  readonly principalId: PrincipalId
  readonly identityId: IdentityId
  /** By audience. */
  readonly tokens: Record<string, string>
  readonly refreshToken: string
}

export interface TokenWorld {
  readonly server: TestServer
  readonly clients: Clients
  readonly gateway: Machine
  readonly notes: Machine
  readonly stranger: Machine
  signIn(subject?: string): Promise<User>
  /** The token endpoint's response. */
  token(form: Record<string, string> | string, headers?: Record<string, string>): Promise<FormAnswer>
  /** An exchange by the gateway, with changes; an undefined member is omitted. */
  exchange(change: Record<string, string | undefined>, by?: Machine): Promise<FormAnswer>
  introspect(token: string, by?: Machine, hint?: string): Promise<FormAnswer>
  revoke(form: Record<string, string>, headers?: Record<string, string>): Promise<FormAnswer>
}

export async function startTokenWorld(options: TestServerOptions): Promise<TokenWorld> {
  const server = await startTestServer(options)
  const audiences = ["svc-notes", "svc-gateway", "svc-stranger"]
  const more = [
    { key: "gateway.use", audience: "svc-gateway", isDefault: true },
    { key: "auth.self", audience: "auth", isDefault: true },
    { key: "auth.audit.read", audience: "auth", isDefault: false },
  ]
  await server.deps.store.transaction((tx) =>
    tx.apps.putApp({ ...server.app, audiences, scopes: [...server.app.scopes, ...more] }),
  )
  const gateway = await addMachine(server, { ownedAudiences: ["svc-gateway"], allowedAudiences: ["svc-notes", "auth"] })
  const notes = await addMachine(server, { ownedAudiences: ["svc-notes"], scopes: ["auth.introspect"] })
  const stranger = await addMachine(server, { ownedAudiences: ["svc-stranger"] })
  await addPolicy(server, gateway)
  const overConnect = protocols["Connect JSON over HTTP/1.1"]
  if (overConnect === undefined) throw new Error("no such protocol")
  const clients = clientsOver(overConnect(server.url))
  const at = (path: string) => server.url + path
  return {
    server,
    clients,
    gateway,
    notes,
    stranger,
    async signIn(subject = `person ${Math.random()}`) {
      const login = { ...(await server.login(subject)), audiences: [...audiences, "auth"] }
      const { accessTokens, refreshToken } = await clients.auth.externalLogin(login)
      const me = await clients.auth.me({}, bearer(accessTokens.auth ?? ""))
      const principalId = parseId("prn", me.principal?.id ?? "")
      const identityId = parseId("idn", me.identity?.id ?? "")
      if (!principalId || !identityId) throw new Error("nobody signed in")
      return { principalId, identityId, tokens: accessTokens, refreshToken }
    },
    token: (form, headers) => postForm(at("/auth/token"), form, headers),
    exchange(change, by = gateway) {
      const form: Record<string, string | undefined> = {
        grant_type: "on_behalf_of",
        subject_token_type: accessTokenType,
        audience: "svc-notes",
        scope: "notes.read",
        job_id: "job-1",
        ...change,
      }
      const sent = Object.entries(form).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
      return postForm(at("/auth/token"), Object.fromEntries(sent), basic(by))
    },
    introspect: (token, by = notes, hint = "") =>
      postForm(at("/auth/token/introspect"), { token, ...(hint && { token_type_hint: hint }) }, basic(by)),
    revoke: (form, headers) => postForm(at("/auth/token/revoke"), form, headers),
  }
}

/** The unverified claims of a token. */
export function claimsOf(answer: FormAnswer): Record<string, unknown> {
  const [, payload = ""] = String(answer.body.access_token).split(".")
  return JSON.parse(Buffer.from(payload, "base64url").toString())
}

/** A refusal of the token endpoint: "400 invalid_grant REASON". */
export const refused = ({ status, body }: FormAnswer): string => `${status} ${body.error} ${body.reason}`
