import type { Membership } from "@signet/kernel/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { app, freshId, putApp, putSession } from "../testing/people.ts"

describeOnEachStore("what decides about a refresh", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  const [tenantId, contextId] = [freshId("ten"), freshId("ctx")]

  test.each([
    ["of the app as a whole", { tenantId: null, contextId: null }],
    ["in a tenant", { tenantId, contextId: null }],
    ["in a tenant's context", { tenantId, contextId }],
    ["in a context of the app itself", { tenantId: null, contextId }],
  ])("for a session %s, is what single look-ups find", async (_, place) => {
    const { person, session, token } = await putSession(opened.store, place)
    const { store } = opened
    const own: Membership = {
      ...person.membership,
      scopes: ["notes.read"],
      profile: { name: 'Zoë "\\', email: "zoe@example.com" },
    }
    await store.transaction(async (tx) => {
      for (const [tenant, context] of [
        [tenantId, null],
        [tenantId, contextId],
        [null, contextId],
      ] as const) {
        const at = { ...own, tenantId: tenant, contextId: context, updatedAtMs: 1_700_000_000_123 }
        await tx.identities.insertMembership({ ...at, id: freshId("mem"), status: "REMOVED" })
        await tx.identities.insertMembership({ ...at, id: freshId("mem"), status: "SUSPENDED" })
        await tx.identities.insertMembership({ ...at, id: freshId("mem"), status: "EXPIRED" })
      }
    })
    await store.transaction(async (tx) => {
      const { principalId, appId } = session
      const find = (tenant: typeof session.tenantId, context: typeof session.contextId) =>
        tx.identities.findMembership(principalId, appId, tenant, context)
      const isInContext = session.tenantId !== null && session.contextId !== null
      const expected = {
        token,
        app,
        identity: person.identity.status,
        principal: person.principal,
        outer: await find(null, null),
        inner: await find(session.tenantId, session.contextId),
        around: isInContext ? await find(session.tenantId, null) : undefined,
        versions: await tx.authorities.find(principalId, appId),
        place: await tx.places.find(session),
      }
      expect(expected.inner?.status).toBe(session.tenantId || session.contextId ? "SUSPENDED" : "ACTIVE")
      const hashes = [new Uint8Array(32), token.tokenHash]
      expect(await tx.refreshTokens.findWithFacts(hashes, session)).toStrictEqual(expected)
      expect(await tx.refreshTokens.findWithFacts([], session)).toStrictEqual({ ...expected, token: undefined })
    })
  })

  test("is undefined for missing records", async () => {
    const { session, token } = await putSession(opened.store)
    const stranger = { ...session, principalId: freshId("prn"), identityId: freshId("idn"), appId: freshId("app") }
    const facts = await opened.store.transaction((tx) => tx.refreshTokens.findWithFacts([token.tokenHash], stranger))
    expect(facts).toEqual({
      token,
      versions: { principal: 0, policy: 0 },
      place: { app: undefined, tenant: null, context: null },
    })
  })
})
