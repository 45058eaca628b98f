// The ownership of service accounts: who manages one, and which permissions it cannot get.
import { generateKeyPairSync } from "node:crypto"
import { createEnvelopeKey, proveEnvelopeKey } from "@signet/guard/mailbox/envelope-key"
import { newId } from "@signet/kernel/ids"
import type { App } from "@signet/kernel/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, type Clients, refusal } from "../support/clients.ts"
import { describeStory } from "../support/postgres.ts"
import type { TestServer } from "../support/server.ts"
import {
  reasonOf,
  request,
  rights,
  type ServiceAccountWorld,
  startServiceAccounts,
} from "../support/service-accounts.ts"

describeStory("a service account", (kind) => {
  let world: ServiceAccountWorld
  let server: TestServer
  let connect: Clients
  beforeAll(async () => {
    world = await startServiceAccounts(kind)
    ;({ server, connect } = world)
  })
  afterAll(() => server?.close())

  test("owns audiences that no other owns, in no app", async () => {
    const audience = `svc-${Math.random()}`
    const listing = { ...server.app, audiences: [...server.app.audiences, audience] }
    await server.deps.store.transaction((tx) => tx.apps.putApp(listing))
    const owner = await world.make(connect, { ownedAudiences: [audience] })
    expect(owner.ownedAudiences).toEqual([audience])
    const again = connect.services.createServiceAccount({ ...request, ownedAudiences: [audience] }, world.asAdmin())
    expect(await reasonOf(again)).toBe("AUDIENCE_TAKEN")
    for (const foreign of ["auth", "svc-of-nobody"]) {
      const claim = connect.services.createServiceAccount({ ...request, ownedAudiences: [foreign] }, world.asAdmin())
      expect(await refusal(claim)).toBe("InvalidArgument AUDIENCE_NOT_REGISTERED")
    }
    await server.deps.store.transaction((tx) => tx.apps.putApp(server.app))
  })

  test("gets no scope that the app lacks, nor a scope of the auth service that its creator does not hold", async () => {
    const greedy = { ...request, scopes: ["notes.read", "notes.fly"] }
    expect(await reasonOf(connect.services.createServiceAccount(greedy, world.asAdmin()))).toBe("INVALID_FIELD")
    const introspecting = { ...request, scopes: ["auth.introspect"], defaultScopes: [] }
    const refused = connect.services.createServiceAccount(introspecting, world.asAdmin())
    expect(await refusal(refused)).toBe("PermissionDenied SCOPE_NOT_GRANTED")
    const more = await world.person({ scopes: [...rights, "auth.introspect"] })
    await connect.services.createServiceAccount(introspecting, bearer(more.token))
  })

  test("of scopes that an administrator lacks gives them no credential", async () => {
    const introspecting = { ...request, scopes: ["notes.read", "auth.introspect"], defaultScopes: [] }
    const more = await world.person({ scopes: [...rights, "auth.introspect"] })
    const { serviceAccount } = await connect.services.createServiceAccount(introspecting, bearer(more.token))
    const serviceAccountId = serviceAccount?.id ?? ""
    const { x = "", y = "" } = freshKey()
    const key = await createEnvelopeKey()
    const proof = await proveEnvelopeKey(key, serviceAccountId)
    const credentials = (as: ReturnType<typeof bearer>) => [
      () => connect.services.addSecret({ serviceAccountId }, as),
      () => connect.services.rotateSecret({ serviceAccountId }, as),
      () => connect.services.addKey({ serviceAccountId, x, y }, as),
      () =>
        connect.services.addEnvelopeKey(
          { serviceAccountId, x: key.x, y: key.y, mailboxes: ["svc-notes/*"], proof },
          as,
        ),
    ]
    for (const add of credentials(world.asAdmin())) {
      expect(await refusal(add())).toBe("PermissionDenied SCOPE_NOT_GRANTED")
    }
    expect(await world.show(serviceAccountId)).toMatchObject({ secrets: [], keys: [] })
    for (const add of credentials(bearer(more.token))) await add()
  })

  test("is neither created nor listed by an administrator of a context, who has no place for one", async () => {
    const [tenantId, contextId] = [newId("ten", 1, new Uint8Array(10)), newId("ctx", 1, new Uint8Array(10))]
    const inside = await world.person({ scopes: rights, tenantId, contextId })
    const as = bearer(inside.token)
    const refused = [connect.services.createServiceAccount(request, as), connect.services.listServiceAccounts({}, as)]
    expect(await Promise.all(refused.map((call) => refusal(call)))).toEqual(
      refused.map(() => "PermissionDenied CONTEXT_MISMATCH"),
    )
  })

  test("is managed by administrators only, who may read without being able to write", async () => {
    const { id } = await world.make()
    const reader = await world.person({ scopes: ["auth.service_accounts.read"] })
    const nobody = await world.person()
    await connect.services.getServiceAccount({ serviceAccountId: id }, bearer(reader.token))
    const { clientId, secret } = await world.serviceWithSecret()
    const service = await world.tokenOf(clientId, secret, "auth")
    const refused = [
      connect.services.addSecret({ serviceAccountId: id }, bearer(reader.token)),
      connect.services.getServiceAccount({ serviceAccountId: id }, bearer(nobody.token)),
      connect.services.listServiceAccounts({}, bearer(nobody.token)),
      connect.services.addSecret({ serviceAccountId: id }, bearer(service)),
      connect.services.listServiceAccounts({}),
    ]
    expect(await Promise.all(refused.map((call) => refusal(call)))).toEqual([
      "PermissionDenied MISSING_SCOPE",
      "PermissionDenied MISSING_SCOPE",
      "PermissionDenied MISSING_SCOPE",
      "PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED",
      "Unauthenticated NO_CREDENTIAL",
    ])
  })

  test("of another app or tenant looks unknown to the caller, and the audit contains the difference", async () => {
    const { id, principalId: ofService } = await world.make()
    const otherApp: App = { ...server.app, id: newId("app", 7, server.deps.random.bytes(10)) }
    await server.deps.store.transaction(async (tx) => {
      await tx.apps.putApp(otherApp)
      const clientId = newId("pcl", 7, server.deps.random.bytes(10))
      await tx.apps.putProviderClient({ ...server.client, id: clientId, appId: otherApp.id })
    })
    const tenantId = newId("ten", 7, server.deps.random.bytes(10))
    const elsewhere = [
      await world.person({ scopes: rights, app: otherApp }),
      await world.person({ scopes: rights, tenantId }),
    ] as const
    const none = newId("sac", 7, server.deps.random.bytes(10))
    const answers: string[] = []
    for (const { token } of elsewhere) {
      for (const serviceAccountId of [id, none]) {
        const { x = "", y = "" } = freshKey()
        const calls = [
          connect.services.getServiceAccount({ serviceAccountId }, bearer(token)),
          connect.services.addSecret({ serviceAccountId }, bearer(token)),
          connect.services.rotateSecret({ serviceAccountId }, bearer(token)),
          connect.services.addKey({ serviceAccountId, x, y }, bearer(token)),
          connect.services.disableServiceAccount({ serviceAccountId }, bearer(token)),
        ]
        answers.push(...(await Promise.all(calls.map((call) => refusal(call)))))
      }
      for (const asked of [{}, { principalIds: [ofService] }]) {
        expect((await connect.services.listServiceAccounts(asked, bearer(token))).serviceAccounts).toEqual([])
      }
    }
    expect(new Set(answers)).toEqual(new Set(["PermissionDenied RESOURCE_UNRESOLVED"]))
    const reasons = await Promise.all(
      elsewhere.map(async ({ principalId }) => {
        const query = server.store.db.selectFrom("audit_event").select("reason").where("kind", "=", "authz.denied")
        return (await query.where("actor_principal_id", "=", principalId).orderBy("id").execute()).map(
          (row) => row.reason,
        )
      }),
    )
    expect(reasons.map((each) => each.toSorted())).toEqual([
      [...Array(5).fill("APP_MISMATCH"), ...Array(5).fill("RESOURCE_UNRESOLVED")],
      [...Array(5).fill("RESOURCE_UNRESOLVED"), ...Array(5).fill("TENANT_MISMATCH")],
    ])
    expect((await world.show(id)).secrets).toEqual([])
  })

  test("of a tenant belongs to the tenant", async () => {
    const tenantId = newId("ten", 8, server.deps.random.bytes(10))
    const inside = await world.person({ scopes: rights, tenantId })
    const { serviceAccount } = await connect.services.createServiceAccount(request, bearer(inside.token))
    expect(serviceAccount).toMatchObject({ tenantId, appId: server.app.id })
    const outside = connect.services.getServiceAccount({ serviceAccountId: serviceAccount?.id ?? "" }, world.asAdmin())
    expect(await refusal(outside)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    const { serviceAccounts } = await connect.services.listServiceAccounts({}, bearer(inside.token))
    expect(serviceAccounts).toEqual([serviceAccount])
    // It cannot own an audience that the whole app uses.
    const owning = { ...request, ownedAudiences: ["svc-notes"] }
    const claim = connect.services.createServiceAccount(owning, bearer(inside.token))
    expect(await refusal(claim)).toBe("InvalidArgument INVALID_FIELD")
  })

  test("another account's secret or key is not found", async () => {
    const [one, other] = [await world.serviceWithSecret(), await world.serviceWithSecret()]
    const [secret] = (await world.show(other.id)).secrets
    const revoke = { serviceAccountId: one.id, secretId: secret?.id ?? "" }
    expect(await refusal(connect.services.revokeSecret(revoke, world.asAdmin()))).toBe("NotFound NOT_FOUND")
    await world.tokenOf(other.clientId, other.secret)
    const key = { serviceAccountId: one.id, kid: "A".repeat(43) }
    expect(await refusal(connect.services.revokeKey(key, world.asAdmin()))).toBe("NotFound NOT_FOUND")
  })

  test("refuses a key that is no point of P-256, and a private key", async () => {
    const { id: serviceAccountId } = await world.make()
    const { x = "", y = "", d = "" } = freshKey()
    const bad = { serviceAccountId, x, y: x }
    expect(await refusal(connect.services.addKey(bad, world.asAdmin()))).toBe("InvalidArgument INVALID_FIELD")
    // Another encoding of the same bytes would have another thumbprint.
    const spare = { serviceAccountId, x: `${x.slice(0, -1)}B`, y }
    expect(await refusal(connect.services.addKey(spare, world.asAdmin()))).toBe("InvalidArgument INVALID_FIELD")
    const response = await world.post(`/auth/service-accounts/${serviceAccountId}/keys`, { x, y, d })
    expect([response.status, (await response.json()).reason]).toEqual([400, "UNKNOWN_FIELD"])
    expect((await world.show(serviceAccountId)).keys).toEqual([])
  })

  test.each([
    ["a client id of the caller's choice", { clientId: "root" }],
    ["a status", { status: "DISABLED" }],
    ["another app", { appId: "app_00000000000000000000000000" }],
    ["a tenant", { tenantId: "ten_00000000000000000000000000" }],
    ["a principal", { principalId: "prn_00000000000000000000000000" }],
    ["an id", { id: "sac_00000000000000000000000000" }],
  ])("is not made with %s", async (_, extra) => {
    const body = { name: "x", authMethods: ["CLIENT_SECRET_POST"], ...extra }
    const response = await world.post("/auth/service-accounts", body)
    expect([response.status, (await response.json()).reason]).toEqual([400, "UNKNOWN_FIELD"])
  })

  test("is identified by the URL path, which a body cannot contradict", async () => {
    const [one, other] = [await world.make(), await world.make()]
    const response = await world.post(`/auth/service-accounts/${one.id}/secrets`, { serviceAccountId: other.id })
    expect([response.status, (await response.json()).reason]).toEqual([400, "FIELD_CONFLICT"])
    const added = await world.post(`/auth/service-accounts/${one.id}/secrets`, {})
    expect([added.status, added.headers.get("cache-control")]).toEqual([200, "no-store"])
    const full = await world.post(`/auth/service-accounts/${one.id}:rotateSecret`, { overlap: "7200s" })
    expect(full.status).toBe(200)
    const limit = await world.post(`/auth/service-accounts/${one.id}/secrets`, {})
    expect([limit.status, (await limit.json()).reason]).toEqual([409, "CREDENTIAL_LIMIT"])
  })
})

const freshKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })
