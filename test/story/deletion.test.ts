// The deletion of an account after its request.

import { Refused } from "@signet/kernel/errors"
import { afterAll, beforeAll, expect, test } from "vitest"
import { idpBSubjectOf } from "../../server/development/idp-b-person.ts"
import { eraseDue } from "../../server/rpc/account/erase-due.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { type FakeIdpB, startFakeIdpB } from "../support/idp-b.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const day = 86_400_000
const minute = 60_000

describeStory("a deletion", (kind) => {
  let server: TestServer
  let idp: FakeIdpB
  let clients: Clients
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    idp = await startFakeIdpB({ clock: server.deps.clock, secrets: server.secrets })
    await server.store.store.transaction((tx) =>
      tx.apps.putProviderClient(idp.clientOf("WEB", { appId: server.app.id })),
    )
    const over = protocols["Connect JSON over HTTP/1.1"]
    if (over === undefined) throw new Error("no such protocol")
    clients = clientsOver(over(server.url))
  })
  afterAll(() => Promise.all([server?.close(), idp?.stop()]))

  const faults: unknown[] = []
  const run = () => eraseDue(server.deps, (fault) => faults.push(fault))
  const revocations = () => idp.asked["/auth/revoke"] ?? 0

  async function signInB(name: string, body: object = {}) {
    const person = { email: `${name}@example.com`, name, hidesEmail: false }
    const redirectUri = idp.clientOf("WEB").redirectUris[0]
    const response = await fetch(`${server.url}/auth/login/idp-b`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        appId: server.app.id,
        platform: "WEB",
        nonce: "n-1",
        authorizationCode: { code: idp.issueCode({ person }), redirectUri },
        ...body,
      }),
    })
    const answer: { accessToken: string; reason?: string; created?: boolean; identity: { id: string } } =
      await response.json()
    return { ...answer, subject: idpBSubjectOf(person) }
  }
  const requestDeletion = ({ accessToken }: { accessToken: string }) =>
    clients.account.requestIdentityDeletion({}, bearer(accessToken))

  test("erases when due, after revocation at the provider, and ids are never reused", async () => {
    const ada = await signInB("ada")
    const { token, pat } = await clients.pats
      .createPat({ name: "laptop", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }, bearer(ada.accessToken))
      .then(({ token, pat }) => ({ token, pat }))
    await requestDeletion(ada)
    expect(pat?.id).toMatch(/^pat_/)
    expect(await refusal(clients.pats.exchangePat({ pat: token }))).toBe("Unauthenticated PAT_INVALID")
    server.advance(13 * day)
    expect(await run()).toBe(0)
    server.advance(day + minute)
    const before = revocations()
    // Two processes at the same time.
    const counts = await Promise.all([run(), run()])
    expect(counts.toSorted()).toEqual([0, 1])
    expect(revocations()).toBeGreaterThan(before)
    const back = await signInB("ada")
    expect(back.created).toBe(true)
    expect(back.identity.id).not.toBe(ada.identity.id)
    const rows = await server.store.db.selectFrom("audit_event").select("kind").execute()
    expect(rows.filter((row) => row.kind === "identity.deleted").length).toBe(1)
  })

  test("waits a limited time for a provider that does not answer", async () => {
    await requestDeletion(await signInB("bea"))
    server.advance(14 * day + minute)
    idp.switches.down = true
    expect(await run()).toBe(0)
    expect(faults.length).toBeGreaterThan(0)
    server.advance(60 * minute)
    expect(await run()).toBe(1)
    idp.switches.down = false
    expect(await run()).toBe(0)
  })

  test("erases at once without a usable token at the provider", async () => {
    const { db } = server.store
    const of = ({ subject }: { subject: string }) => db.updateTable("provider_account").where("subject", "=", subject)
    const [fay, gus, hal] = [await signInB("fay"), await signInB("gus"), await signInB("hal")]
    for (const one of [fay, gus, hal]) await requestDeletion(one)
    await of(fay).set({ refresh_token_sealed: null }).execute()
    await of(gus)
      .set({ refresh_token_sealed: Buffer.alloc(64) })
      .execute()
    server.advance(14 * day + minute)
    const { IDP_B: provider } = server.deps.providers
    if (provider === undefined) throw new Error("the server has no IDP_B")
    const asked: string[] = []
    const refusing = {
      ...provider,
      async revoke(_: unknown, token: string) {
        asked.push(token)
        throw new Refused("PROVIDER_TOKEN_INVALID")
      },
    }
    const before = faults.length
    const deps = { ...server.deps, providers: { ...server.deps.providers, IDP_B: refusing } }
    expect(await eraseDue(deps, (fault) => faults.push(fault))).toBe(3)
    expect([asked.length, faults.length - before]).toEqual([1, 1])
  })

  test("can be canceled until it starts, and then nothing is erased", async () => {
    const cia = await signInB("cia")
    await requestDeletion(cia)
    server.advance(14 * day + minute)
    expect((await signInB("cia")).reason).toBe("IDENTITY_DELETION_PENDING")
    expect((await signInB("cia", { cancelDeletion: true })).identity.id).toBe(cia.identity.id)
    expect(await run()).toBe(0)
  })

  test("that is canceled while another one runs revokes nothing at the provider", async () => {
    const names = ["dan", "eve"]
    for (const name of names) await requestDeletion(await signInB(name))
    server.advance(14 * day + minute)
    const { IDP_B: provider } = server.deps.providers
    if (provider === undefined) throw new Error("the server has no IDP_B")
    const revoked: string[] = []
    const canceling: typeof provider = {
      ...provider,
      async revoke(_, token) {
        if (revoked.push(token) > 1) return
        for (const name of names) await signInB(name, { cancelDeletion: true })
      },
    }
    const deps = { ...server.deps, providers: { ...server.deps.providers, IDP_B: canceling } }
    expect(await eraseDue(deps, (fault) => faults.push(fault))).toBe(0)
    expect(revoked).toHaveLength(1)
  })
})
