// A message to an actor in another process, which calls the issuer only for keys, the revocation feed and introspection
// of old messages.

import { createGuard, type Guard } from "@signet/guard/guard"
import { createKeySet } from "@signet/guard/key-set"
import { createMailbox, type Receive } from "@signet/guard/mailbox"
import { createEnvelopeKey, proveEnvelopeKey } from "@signet/guard/mailbox/envelope-key"
import { type Contexts, createContexts } from "@signet/guard/mailbox-contexts"
import { createMemoryReplay } from "@signet/guard/mailbox-replay"
import { createSender, type Sender } from "@signet/guard/mailbox-sender"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols } from "../support/clients.ts"
import { addReader, type Follower, follow } from "../support/followed.ts"
import { addMachine, basic, type Machine, postForm } from "../support/machines.ts"
import { claimsOf, type SignedInPerson, signIn as signInAs } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const mailbox = "svc-notes/inbox"
let server: TestServer
let clients: Clients
let admin: SignedInPerson
let web: Machine
let sender: Sender
let kid: string
let follower: Follower
let receive: Receive<string>
/** The web service's guard and context tokens. */
let webGuard: Guard
let contexts: Contexts
let asked = 0

beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
  const { app, deps } = server
  const { issuer, clock } = deps
  const scopes = [...app.scopes, { key: "web.use", audience: "svc-web", isDefault: true }]
  const audiences = ["svc-notes", "svc-web"]
  await deps.store.transaction((tx) => tx.apps.putApp({ ...app, audiences, scopes }))
  clients = clientsOver((protocols["Connect JSON over HTTP/1.1"] ?? expect.unreachable)(server.url))
  admin = await signInAs(server, clients, "an administrator", { scopes: ["auth.service_accounts.write"] })
  follower = follow(server, await addReader(server))
  web = await addMachine(server, { ownedAudiences: ["svc-web"], allowedAudiences: ["svc-notes", "auth"] })

  const crypto = nodeTokenCrypto
  const keySet = createKeySet({ url: `${server.url}/.well-known/jwks.json`, crypto, clock, fetch })
  webGuard = createGuard({ issuer, audience: "svc-web", appId: app.id, keySet, crypto, clock })
  contexts = createContexts({
    baseUrl: server.url,
    clientId: web.account.clientId,
    clientSecret: web.secret,
    token: () => grant({ grant_type: "client_credentials", audience: "auth" }),
    fetch: (...of) => {
      asked++
      return fetch(...of)
    },
    clock,
  })

  // The setup of a service: its key, the administrator's permission, its certificate.
  const key = await createEnvelopeKey()
  const serviceAccountId = web.account.id
  const proof = await proveEnvelopeKey(key, serviceAccountId)
  const { x, y } = key
  kid = key.kid
  const request = { serviceAccountId, x, y, mailboxes: ["svc-notes/*"], proof }
  await clients.services.addEnvelopeKey(request, bearer(admin.token))
  sender = createSender({ ...key, principalId: web.account.principalId, certificate: () => certificateOf(kid), clock })
  receive = createMailbox(
    {
      guard: follower.guard,
      requirement: { is: "scope", scope: "web.use" },
      mailbox,
      issuer,
      contextKeys: createKeySet({
        url: `${server.url}/.well-known/context-keys.json`,
        crypto: nodeTokenCrypto,
        clock,
        fetch,
      }),
      clock,
      replay: createMemoryReplay({ clock }),
      revocations: follower.feed,
      findCertificate: certificateOf,
      read: (message) => new TextDecoder().decode(message),
    },
    ({ auth, message }) => `${auth?.principal.id}: ${message}`,
  )
})
afterAll(async () => {
  await follower?.feed.stop()
  await server?.close()
})

const grant = async (form: Record<string, string>): Promise<string> => {
  const { status, body } = await postForm(`${server.url}/auth/token`, form, basic(web))
  expect([status, body]).toMatchObject([200, { access_token: expect.any(String) }])
  return String(body.access_token)
}
async function certificateOf(of: string): Promise<string> {
  const token = await grant({ grant_type: "client_credentials", audience: "auth" })
  return (await clients.services.getEnvelopeCertificate({ kid: of }, bearer(token))).certificate
}
/** A user, and an envelope that the web service sealed for them. */
async function posted() {
  const login = { ...(await server.login(`person ${Math.random()}`)), audiences: ["svc-web", "auth"] }
  const { accessTokens } = await clients.auth.externalLogin(login)
  const token = accessTokens["svc-web"] ?? ""
  const caller = await webGuard.authenticate(`Bearer ${token}`)
  const { contextToken } = typeof caller === "string" ? expect.unreachable(caller) : await contexts.of(caller, token)
  const message = new TextEncoder().encode("hello")
  const bytes = await sender.seal({ mailbox, contextToken, scopes: ["web.use"], message })
  return { bytes, token, auth: accessTokens.auth ?? "", principalId: String(claimsOf(token).sub), contextToken }
}
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => "taken",
    (error: unknown) => (error instanceof Refused ? error.reason : Promise.reject(error)),
  )

test("a context is requested once per session, cached for half its lifetime, and not requested without a session", async () => {
  const { token, auth, contextToken } = await posted()
  const caller = await webGuard.authenticate(`Bearer ${token}`)
  if (typeof caller === "string") throw new Error(caller)
  asked = 0
  const both = await Promise.all([contexts.of(caller, token), contexts.of(caller, token)])
  expect(both.map((one) => one.contextToken)).toEqual([contextToken, contextToken])
  expect(both[0]?.scopes).toEqual(["web.use"])
  expect(asked).toBe(0)
  const own = await contexts.own()
  expect(claimsOf(own.contextToken)).toMatchObject({ sub: web.account.principalId, aud: web.account.principalId })
  expect((await contexts.own()).contextToken).toBe(own.contextToken)
  expect(asked).toBe(1)
  await clients.auth.logout({}, bearer(auth))
  const other = { ...caller, permVer: caller.permVer + 1 }
  await expect(contexts.of(other, token)).rejects.toThrow("400")
  expect(await contexts.certificate(kid)).toMatch(/^ey/)
  expect(await contexts.certificate(kid.replace(/./, (c) => (c === "x" ? "y" : "x")))).toBeUndefined()
})

describe("a message", () => {
  test("arrives with its user's identity", async () => {
    const { bytes, principalId } = await posted()
    await follower.feed.refresh()
    expect(await receive(bytes)).toBe(`${principalId}: hello`)
    expect(await reasonOf(receive(bytes))).toBe("ENVELOPE_REPLAYED")
  })

  test("is refused after the user has logged out", async () => {
    const { bytes, auth } = await posted()
    await clients.auth.logout({}, bearer(auth))
    await follower.feed.refresh()
    expect(await reasonOf(receive(bytes))).toBe("SESSION_REVOKED")
  })

  test("is refused after the user was suspended", async () => {
    const { bytes, principalId } = await posted()
    const id = parseId("prn", principalId) ?? expect.unreachable()
    const nowMs = server.deps.clock.nowMs()
    await server.deps.store.transaction((tx) => tx.principals.end(id, "SUSPENDED", nowMs))
    await follower.feed.refresh()
    expect(await reasonOf(receive(bytes))).toBe("PRINCIPAL_INACTIVE")
  })

  test("is refused after its context was revoked, and accepted after another one was", async () => {
    const one = await posted()
    const other = await posted()
    const answer = await postForm(`${server.url}/auth/token/revoke`, { token: one.contextToken }, basic(web))
    expect(answer.status).toBe(200)
    await follower.feed.refresh()
    expect(await reasonOf(receive(one.bytes))).toBe("TOKEN_REVOKED")
    expect(await reasonOf(receive(other.bytes))).toBe("taken")
  })

  test("that waited an hour is introspected, which finds an old logout", async () => {
    const staying = await posted()
    const leaving = await posted()
    await clients.auth.logout({}, bearer(leaving.auth))
    server.advance(3_600_000)
    await follower.feed.refresh()
    // The feed no longer contains it: no access token of that time is still valid.
    expect(await reasonOf(receive(leaving.bytes))).toBe("TOKEN_REVOKED")
    expect(await reasonOf(receive(staying.bytes))).toBe("taken")
  })

  test("is refused if the feed was silent for a minute", async () => {
    const { bytes } = await posted()
    await follower.feed.refresh()
    server.advance(61_000)
    expect(await reasonOf(receive(bytes))).toBe("UNAVAILABLE")
    await follower.feed.refresh()
    expect(await reasonOf(receive(bytes))).toBe("taken")
  })

  test("is refused while its sender is disabled, and permanently after its key was revoked", async () => {
    const before = await posted()
    const at = { serviceAccountId: web.account.id }
    await clients.services.disableServiceAccount(at, bearer(await adminToken()))
    await follower.feed.refresh()
    expect(await reasonOf(receive(before.bytes))).toBe("PRINCIPAL_INACTIVE")
    server.advance(1_000)
    await clients.services.enableServiceAccount(at, bearer(await adminToken()))
    server.advance(1_000)
    const after = await posted()
    await follower.feed.refresh()
    expect(await reasonOf(receive(after.bytes))).toBe("taken")

    const last = await posted()
    await clients.services.revokeEnvelopeKey({ ...at, kid }, bearer(await adminToken()))
    await follower.feed.refresh()
    expect(await reasonOf(receive(last.bytes))).toBe("ENVELOPE_KEY_REVOKED")
    // As long as an earlier certificate is valid.
    server.advance(23 * 3_600_000)
    await follower.feed.refresh()
    expect(await reasonOf(receive(last.bytes))).toBe("ENVELOPE_KEY_REVOKED")
  })
})

/** Signs in anew, because the earlier token has expired on the moved clock. */
async function adminToken(): Promise<string> {
  admin = await signInAs(server, clients, "an administrator", { scopes: ["auth.service_accounts.write"] })
  return admin.token
}
