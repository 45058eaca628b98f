// A revocation at the issuer takes effect at a service that verifies tokens locally and follows the revocation feed.
import { Code } from "@connectrpc/connect"
import { anyApp } from "@signet/guard/guard"
import { newId, parseId } from "@signet/kernel/ids"
import { keyCredentialId } from "@signet/kernel/machine/service-account"
import type { Tx } from "@signet/kernel/ports"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { addReader, type Follower, follow } from "../support/followed.ts"
import { addMachine, addPat, addPolicy, assertion, basic, type Machine, postForm } from "../support/machines.ts"
import { claimsOf } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("a service that follows the revocation feed", (kind) => {
  let server: TestServer
  let clients: Clients
  let follower: Follower
  let gateway: Machine
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    const { app } = server
    await server.deps.store.transaction((tx) => tx.apps.putApp({ ...app, audiences: ["svc-notes", "svc-gateway"] }))
    clients = clientsOver((protocols["Connect JSON over HTTP/1.1"] ?? expect.unreachable)(server.url))
    follower = follow(server, await addReader(server), { guard: { appId: anyApp } })
    gateway = await addMachine(server, { ownedAudiences: ["svc-gateway"], allowedAudiences: ["svc-notes", "auth"] })
    await addPolicy(server, gateway)
  })
  afterAll(async () => {
    await follower?.feed.stop()
    await server?.close()
  })

  async function signIn() {
    const login = { ...(await server.login(`person ${Math.random()}`)), audiences: ["svc-notes", "auth"] }
    const answer = await clients.auth.externalLogin(login)
    const { notes = "", auth = "" } = { notes: answer.accessTokens["svc-notes"], auth: answer.accessTokens.auth }
    return { notes, auth, refreshToken: answer.refreshToken, claims: claimsOf(notes) }
  }
  const grant = async (form: Record<string, string>, by?: Machine): Promise<string> => {
    const { status, body } = await postForm(`${server.url}/auth/token`, form, by && basic(by))
    expect([status, body]).toMatchObject([200, { access_token: expect.any(String) }])
    return String(body.access_token)
  }
  const ofService = (by: Machine) => grant({ grant_type: "client_credentials", audience: "svc-notes" }, by)
  const actFor = (token: string) =>
    grant(
      {
        grant_type: "on_behalf_of",
        subject_token: token,
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
        audience: "svc-notes",
        scope: "notes.read",
        job_id: "job-1",
      },
      gateway,
    )
  const inStore = <T>(work: (tx: Tx, nowMs: number) => Promise<T>) =>
    server.deps.store.transaction((tx) => work(tx, server.deps.clock.nowMs()))

  /** Checks that the tokens are accepted before, and refused as soon as the feed was read. */
  async function ends(tokens: readonly string[], reason: string, end: () => Promise<unknown>): Promise<void> {
    const bystander = await signIn()
    await follower.feed.refresh()
    for (const token of tokens) expect(await follower.decide(token)).toBe("allow")
    await end()
    await follower.feed.refresh()
    for (const token of tokens) expect(await follower.decide(token)).toBe(reason)
    expect(await follower.decide(bystander.notes)).toBe("allow")
  }

  describe("sessions", () => {
    test("a sign-out ends the session's tokens", async () => {
      const { notes, auth } = await signIn()
      await ends([notes], "SESSION_REVOKED", () => clients.auth.logout({}, bearer(auth)))
    })

    test("a sign-out everywhere ends the tokens of all sessions", async () => {
      const { notes, auth } = await signIn()
      await ends([notes], "SESSION_REVOKED", () => clients.auth.logoutAll({}, bearer(auth)))
    })

    test("the revocation of a session by id ends its tokens", async () => {
      const { notes, auth, claims } = await signIn()
      const end = () => clients.sessions.revokeSession({ sessionId: String(claims.sid) }, bearer(auth))
      await ends([notes], "SESSION_REVOKED", end)
    })

    test("a reused refresh token ends its session's tokens", async () => {
      const { notes, refreshToken } = await signIn()
      await ends([notes], "SESSION_REVOKED", async () => {
        await clients.auth.refresh({ refreshToken })
        await expect(clients.auth.refresh({ refreshToken })).rejects.toMatchObject({ code: Code.Unauthenticated })
      })
    })

    test("a user's sign-out ends the delegated tokens of a service", async () => {
      const login = { ...(await server.login("delegator")), audiences: ["svc-gateway", "auth"] }
      const { accessTokens } = await clients.auth.externalLogin(login)
      const delegated = await actFor(accessTokens["svc-gateway"] ?? "")
      await ends([delegated], "SESSION_REVOKED", () => clients.auth.logout({}, bearer(accessTokens.auth ?? "")))
    })
  })

  describe("credentials and tokens", () => {
    test("the revocation of an access token ends that token", async () => {
      const { notes, auth } = await signIn()
      await ends([notes], "TOKEN_REVOKED", async () => {
        const headers = { authorization: `Bearer ${auth}` }
        await postForm(`${server.url}/auth/token/revoke`, { token: notes }, headers)
      })
    })

    test("the revocation of a personal access token ends its access tokens", async () => {
      const { claims } = await signIn()
      const ids = { principalId: parse("prn", claims.sub), identityId: parse("idn", claims.identity_id) }
      const { token } = await addPat(server, ids)
      const minted = await grant({ grant_type: "pat", pat: token, audience: "svc-notes" })
      await ends([minted], "CREDENTIAL_REVOKED", () => postForm(`${server.url}/auth/token/revoke`, { token }))
    })

    test("the revocation of a service's secret or key ends the tokens that it requested", async () => {
      const machine = await addMachine(server)
      const bySecret = await ofService(machine)
      await ends([bySecret], "CREDENTIAL_REVOKED", () =>
        inStore(async (tx, nowMs) => {
          await tx.serviceAccounts.revokeSecret(machine.secretRecord.id, nowMs)
          await tx.revocations.add([{ kind: "CREDENTIAL", key: machine.secretRecord.id, expiresAtMs: nowMs + 930_000 }])
        }),
      )
      const byKey = await grant({
        grant_type: "client_credentials",
        audience: "svc-notes",
        ...assertion(machine, { nowMs: server.deps.clock.nowMs() }),
      })
      await ends([byKey], "CREDENTIAL_REVOKED", () =>
        inStore((tx, nowMs) => {
          const key = keyCredentialId(machine.account.id, machine.kid)
          return tx.revocations.add([{ kind: "CREDENTIAL", key, expiresAtMs: nowMs + 930_000 }])
        }),
      )
    })
  })

  describe("a reversible change", () => {
    /** Checks that earlier tokens stay refused and that new ones are accepted. */
    async function comesBack(before: string, again: () => Promise<unknown>, next: () => Promise<string>) {
      server.advance(2_000)
      await again()
      server.advance(2_000)
      const after = await next()
      await follower.feed.refresh()
      expect(await follower.decide(before)).toBe("TOKEN_REVOKED")
      expect(await follower.decide(after)).toBe("allow")
    }

    test("a service account that is disabled, and enabled", async () => {
      const machine = await addMachine(server)
      const token = await ofService(machine)
      const { id } = machine.account
      await ends([token], "PRINCIPAL_INACTIVE", () =>
        inStore((tx, nowMs) => tx.serviceAccounts.setStatus(id, "DISABLED", nowMs)),
      )
      const enable = () => inStore((tx, nowMs) => tx.serviceAccounts.setStatus(id, "ACTIVE", nowMs))
      await comesBack(token, enable, () => ofService(machine))
    })

    test("an acting service, suspended as a principal", async () => {
      const actor = await addMachine(server, { allowedAudiences: ["svc-notes"], ownedAudiences: ["svc-actor"] })
      await addPolicy(server, actor)
      const login = { ...(await server.login("acted for")), audiences: ["svc-notes", "auth"] }
      const { accessTokens } = await clients.auth.externalLogin(login)
      const claims = claimsOf(accessTokens["svc-notes"] ?? "")
      const act = { sub: actor.account.principalId, principal_type: "service", client_id: actor.account.clientId }
      const { sid, auth_time: _, did: __, ...rest } = claims
      const delegated = { ...rest, gty: "on_behalf_of", act, osid: sid, job_id: "job-2", client_id: act.client_id }
      const token = server.keys.sign("at+jwt", delegated)
      await ends([token], "PRINCIPAL_INACTIVE", () =>
        inStore((tx, nowMs) => tx.principals.end(actor.account.principalId, "SUSPENDED", nowMs)),
      )
    })

    test("a principal that is suspended, and resumed", async () => {
      const { notes, claims } = await signIn()
      const id = parse("prn", claims.sub)
      await ends([notes], "PRINCIPAL_INACTIVE", () => inStore((tx, nowMs) => tx.principals.end(id, "SUSPENDED", nowMs)))
      const resume = () => inStore((tx, nowMs) => tx.principals.resume(id, nowMs))
      const again = (token: string) => {
        const issued = claimsOf(token)
        const iat = Math.floor(server.deps.clock.nowMs() / 1_000)
        const fresh = { ...issued, sid: newSid(), perm_ver: 99, pol_ver: 0, iat, nbf: iat, exp: iat + 600 }
        return server.keys.sign("at+jwt", fresh)
      }
      server.advance(2_000)
      await resume()
      server.advance(2_000)
      await follower.feed.refresh()
      // Its session has ended permanently; a new sign-in is accepted.
      expect(await follower.decide(notes)).not.toBe("allow")
      expect(await follower.decide(again(notes))).toBe("allow")
    })

    test.each(["principal", "identity"] as const)("a deleted %s", async (what) => {
      const { notes, claims } = await signIn()
      const [id, identityId] = [parse("prn", claims.sub), parse("idn", claims.identity_id)]
      await ends([notes], "PRINCIPAL_INACTIVE", () =>
        inStore<unknown>((tx, nowMs) =>
          what === "principal" ? tx.principals.end(id, "DEACTIVATED", nowMs) : tx.accounts.erase(identityId, nowMs),
        ),
      )
    })

    test("a tenant, a context and the app, suspended and resumed", async () => {
      const machine = await addMachine(server)
      const claims = claimsOf(await ofService(machine))
      const tenantId = newId("ten", 1, server.deps.random.bytes(10))
      const contextId = newId("ctx", 1, server.deps.random.bytes(10))
      const appId = newId("app", 1, server.deps.random.bytes(10))
      const inside = (change: object) => {
        const iat = Math.floor(server.deps.clock.nowMs() / 1_000)
        const own = { app_id: appId, sub: machine.account.principalId, iat, nbf: iat, exp: iat + 600 }
        return server.keys.sign("at+jwt", { ...claims, ...own, perm_ver: 0, pol_ver: 0, ...change })
      }
      const places = [
        [
          { tenant_id: tenantId, context_id: contextId },
          { appId, tenantId, contextId },
        ],
        [{ tenant_id: tenantId }, { appId, tenantId, contextId: null }],
        [{}, { appId, tenantId: null, contextId: null }],
      ] as const
      for (const [change, place] of places) {
        const token = inside(change)
        await ends([token], "TENANT_SUSPENDED", () =>
          inStore((tx, nowMs) => tx.endings.endByPlace(place, "suspended", nowMs)),
        )
        const reopen = () => inStore((tx, nowMs) => tx.endings.reopenPlace(place, nowMs))
        await comesBack(token, reopen, async () => inside(change))
      }
    })

    test("revoked authority: older versions are stale, newer ones are accepted", async () => {
      const { notes, claims } = await signIn()
      const [key, appId] = [parse("prn", claims.sub), parse("app", claims.app_id)]
      await ends([notes], "PERMISSIONS_STALE", () =>
        inStore((tx, nowMs) =>
          tx.revocations.add([{ kind: "AUTHORITY", key, appId, minVersion: 1_000, expiresAtMs: nowMs + 930_000 }]),
        ),
      )
      const newer = server.keys.sign("at+jwt", { ...claims, perm_ver: 1_000, pol_ver: 0 })
      expect(await follower.decide(newer)).toBe("allow")
    })
  })

  describe("of the issuer itself", () => {
    test("a compromised key invalidates its tokens, also those that were verified before", async () => {
      const { notes } = await signIn()
      await follower.feed.refresh()
      expect(await follower.decide(notes)).toBe("allow")
      await server.keys.compromise(kidOf(notes))
      await follower.feed.refresh()
      expect(await follower.decide(notes)).toBe("KEY_UNKNOWN")
      expect(await follower.decide((await signIn()).notes)).toBe("allow")
    })

    test("a compromised statement key's statements are refused", async () => {
      const { keys } = server
      const stolen = kidOf(keys.sign("rev+jwt", {}))
      await keys.compromise(stolen)
      await follower.feed.refresh()
      expect(keys.jwks("STATEMENT").map(({ kid }) => kid)).not.toContain(stolen)
      const { notes, auth } = await signIn()
      await ends([notes], "SESSION_REVOKED", () => clients.auth.logout({}, bearer(auth)))
    })

    test("after a restart of the log under a new name every earlier token is refused", async () => {
      const { restartRevocationLog } = await import("../../server/store/postgres/token/revocation-log.ts")
      const { notes, auth, refreshToken } = await signIn()
      await follower.feed.refresh()
      expect(await follower.decide(notes)).toBe("allow")
      await restartRevocationLog(server.store.db, server.deps.clock.nowMs())
      server.advance(2_000)
      await follower.feed.refresh()
      expect(await follower.decide(notes)).toBe("TOKEN_REVOKED")
      expect(await refusal(clients.auth.me({}, bearer(auth)))).toBe("Unauthenticated TOKEN_REVOKED")
      const refreshed = await clients.auth.refresh({ refreshToken, audiences: ["svc-notes", "auth"] })
      await clients.auth.me({}, bearer(refreshed.accessTokens.auth ?? ""))
      expect(await follower.decide(refreshed.accessTokens["svc-notes"] ?? "")).toBe("allow")
    })
  })
})

function parse<K extends Parameters<typeof parseId>[0]>(kind: K, text: unknown) {
  return parseId(kind, String(text)) ?? expect.unreachable(`no ${kind}`)
}
const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid
const newSid = () => newId("ses", Date.now(), crypto.getRandomValues(new Uint8Array(10)))
