import { generateKeyPairSync } from "node:crypto"
import { newId } from "@signet/kernel/ids"
import type { App } from "@signet/kernel/records"
import {
  ClientAuthMethod,
  ServiceAccount_Status,
  ServiceSecret_Status,
} from "@signet/proto/auth/v1/service_account_service"
import { calculateJwkThumbprint, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { claimsOf, type SignedInPerson, signIn } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const daySeconds = 86_400
const rights = ["auth.service_accounts.read", "auth.service_accounts.write"]
const request = {
  name: "mailer",
  authMethods: [ClientAuthMethod.CLIENT_SECRET_POST],
  allowedAudiences: ["svc-notes", "auth"],
  scopes: ["notes.read", "notes.write"],
  defaultScopes: ["notes.read"],
}

const keyed = { authMethods: [ClientAuthMethod.PRIVATE_KEY_JWT] }

describeStory("a service account", (kind) => {
  let server: TestServer
  let connect: Clients
  let admin: SignedInPerson
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    connect = clientsOver(transportOf("Connect JSON over HTTP/1.1", server))
    admin = await person({ scopes: rights })
  })
  afterAll(() => server?.close())
  const subject = () => `person ${Math.random()}`
  const person = (options = {}) => signIn(server, connect, subject(), options)
  const asAdmin = () => bearer(admin.token)

  const make = async (clients: Clients = connect, change: object = {}) => {
    const { serviceAccount } = await clients.services.createServiceAccount({ ...request, ...change }, asAdmin())
    if (serviceAccount === undefined) throw new Error("no account")
    return serviceAccount
  }
  const show = (serviceAccountId: string, clients: Clients = connect) =>
    clients.services.getServiceAccount({ serviceAccountId }, asAdmin())
  const tokenOf = async (clientId: string, clientSecret: string, audience = "svc-notes") =>
    (await connect.tokens.token({ grantType: "client_credentials", clientId, clientSecret, audience })).accessToken
  const reasonOf = async (call: Promise<unknown>) => (await refusal(call)).split(" ").at(-1)
  const kindsOf = async (principalId: string) => {
    const query = server.store.db.selectFrom("audit_event").select(["kind", "actor_principal_id", "session_id"])
    const rows = await query
      .where("subject_principal_id", "=", principalId as never)
      .where("kind", "like", "service_account.%" as never)
      .orderBy("id")
      .execute()
    for (const row of rows) expect(row).toMatchObject({ actor_principal_id: admin.principalId })
    return rows.map((row) => row.kind)
  }

  describe.each(Object.keys(protocols))("over %s", (protocol) => {
    let clients: Clients
    beforeAll(() => {
      clients = clientsOver(transportOf(protocol, server))
    })

    test("gets a secret, calls with it, rotates it with an overlap to the second, and loses it", async () => {
      const account = await make(clients)
      const serviceAccountId = account.id
      expect(account).toMatchObject({ ...request, clientId: account.id, status: ServiceAccount_Status.ACTIVE })
      const first = await clients.services.addSecret({ serviceAccountId, expiresInDays: 10 }, asAdmin())
      expect(first.secret).toMatch(/^sgsec_[0-9A-Za-z]{50}$/)
      expect(lifeOf(first.serviceSecret)).toBe(10 * daySeconds)
      expect(first.serviceSecret?.hint).toBe(first.secret.slice(-4))
      const token = await tokenOf(account.clientId, first.secret)
      expect(claimsOf(token)).toMatchObject({
        sub: account.principalId,
        principal_type: "service",
        gty: "client_credentials",
        cred_id: first.serviceSecret?.id,
        scp: ["notes.read"],
      })

      const overlap = { seconds: 3_600n, nanos: 0 }
      const second = await clients.services.rotateSecret({ serviceAccountId, overlap }, asAdmin())
      expect(lifeOf(second.serviceSecret)).toBe(180 * daySeconds)
      const [replaced] = second.replaced
      expect(replaced).toMatchObject({ id: first.serviceSecret?.id, status: ServiceSecret_Status.ACTIVE })
      expect(secondsOf(replaced?.expiresAt) - secondsOf(second.serviceSecret?.createdAt)).toBe(3_600)

      const shown = await show(account.id, clients)
      expect(shown.serviceAccount).toEqual(account)
      const ids = [second.serviceSecret?.id, first.serviceSecret?.id]
      expect(shown.secrets.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
      expect(secondsOf(shown.secrets.find(({ id }) => id === ids[1])?.lastUsedAt)).toBeGreaterThan(0)
      const listed = await clients.services.listServiceAccounts({ pageSize: 1 }, asAdmin())
      expect(listed.serviceAccounts).toEqual([account])
      for (const secret of [first.secret, second.secret]) {
        expect(text(shown)).not.toContain(secret)
        expect(text(listed)).not.toContain(secret)
        await tokenOf(account.clientId, secret)
      }

      const revoke = { serviceAccountId, secretId: second.serviceSecret?.id ?? "" }
      await clients.services.revokeSecret(revoke, asAdmin())
      await clients.services.revokeSecret(revoke, asAdmin())
      expect(await reasonOf(tokenOf(account.clientId, second.secret))).toBe("CLIENT_INVALID")
      await tokenOf(account.clientId, first.secret)
      expect(await kindsOf(account.principalId)).toEqual([
        "service_account.created",
        "service_account.secret_added",
        "service_account.secret_rotated",
        "service_account.secret_revoked",
      ])
    })

    test("is stopped and started again; its access tokens from before stay stopped", async () => {
      const account = await make(clients)
      const serviceAccountId = account.id
      const { secret } = await clients.services.addSecret({ serviceAccountId }, asAdmin())
      const token = await tokenOf(account.clientId, secret, "auth")
      // Known, and not of the kind that may ask.
      expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED")
      await clients.services.disableServiceAccount({ serviceAccountId }, asAdmin())
      await clients.services.disableServiceAccount({ serviceAccountId }, asAdmin())
      expect((await show(account.id)).serviceAccount?.status).toBe(ServiceAccount_Status.DISABLED)
      expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("Unauthenticated PRINCIPAL_INACTIVE")
      expect(await reasonOf(tokenOf(account.clientId, secret))).toBe("CLIENT_INVALID")
      server.advance(1_000)
      await clients.services.enableServiceAccount({ serviceAccountId }, asAdmin())
      // Verifiers that follow the revocation feed were told so too, and are told no other.
      expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("Unauthenticated TOKEN_REVOKED")
      const next = await tokenOf(account.clientId, secret, "auth")
      expect(await refusal(clients.auth.me({}, bearer(next)))).toBe("PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED")
      expect(await kindsOf(account.principalId)).toEqual([
        "service_account.created",
        "service_account.secret_added",
        "service_account.disabled",
        "service_account.enabled",
      ])
    })

    test("has public keys, each known by its thumbprint, and a revoked one never again", async () => {
      const account = await make(clients, keyed)
      const { x = "", y = "" } = freshKey()
      const key = { serviceAccountId: account.id, x, y }
      const { serviceKey } = await clients.services.addKey(key, asAdmin())
      const kid = await calculateJwkThumbprint({ kty: "EC", crv: "P-256", x, y })
      expect(serviceKey).toMatchObject({ kid, x, y })
      expect((await clients.services.addKey(key, asAdmin())).serviceKey).toEqual(serviceKey)
      await clients.services.revokeKey({ serviceAccountId: account.id, kid }, asAdmin())
      await clients.services.revokeKey({ serviceAccountId: account.id, kid }, asAdmin())
      expect(await reasonOf(clients.services.addKey(key, asAdmin()))).toBe("INVALID_FIELD")
      const [shown] = (await show(account.id, clients)).keys
      expect(secondsOf(shown?.revokedAt)).toBeGreaterThan(0)
      expect(await kindsOf(account.principalId)).toEqual([
        "service_account.created",
        "service_account.key_added",
        "service_account.key_revoked",
      ])
    })
  })

  test("has at most two live secrets; a rotation without an overlap ends both, and their tokens", async () => {
    const account = await make()
    const serviceAccountId = account.id
    const one = await connect.services.addSecret({ serviceAccountId }, asAdmin())
    const two = await connect.services.addSecret({ serviceAccountId }, asAdmin())
    expect(lifeOf(one.serviceSecret)).toBe(180 * daySeconds)
    expect(await reasonOf(connect.services.addSecret({ serviceAccountId }, asAdmin()))).toBe("CREDENTIAL_LIMIT")
    expect(await reasonOf(connect.services.rotateSecret({ serviceAccountId }, asAdmin()))).toBe("CREDENTIAL_LIMIT")
    const token = await tokenOf(account.clientId, one.secret, "auth")
    const overlap = { seconds: 0n, nanos: 0 }
    const three = await connect.services.rotateSecret({ serviceAccountId, overlap }, asAdmin())
    expect(three.replaced.map(({ status }) => status)).toEqual(Array(2).fill(ServiceSecret_Status.REVOKED))
    for (const { secret } of [one, two]) {
      expect(await reasonOf(tokenOf(account.clientId, secret))).toBe("CLIENT_INVALID")
    }
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated CREDENTIAL_REVOKED")
    await tokenOf(account.clientId, three.secret)
    const tooLong = { serviceAccountId, overlap: { seconds: 604_801n, nanos: 0 } }
    expect(await reasonOf(connect.services.rotateSecret(tooLong, asAdmin()))).toBe("INVALID_FIELD")
  })

  test("gets one of two secrets that are asked for at once when one is there", async () => {
    const { id: serviceAccountId } = await make()
    await connect.services.addSecret({ serviceAccountId }, asAdmin())
    const calls = Array.from({ length: 5 }, () => connect.services.addSecret({ serviceAccountId }, asAdmin()))
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  })

  test("owns audiences that no other owns, in no app", async () => {
    const audience = `svc-${Math.random()}`
    const listing = { ...server.app, audiences: [...server.app.audiences, audience] }
    await server.deps.store.transaction((tx) => tx.apps.putApp(listing))
    const owner = await make(connect, { ownedAudiences: [audience] })
    expect(owner.ownedAudiences).toEqual([audience])
    const again = connect.services.createServiceAccount({ ...request, ownedAudiences: [audience] }, asAdmin())
    expect(await reasonOf(again)).toBe("AUDIENCE_TAKEN")
    for (const foreign of ["auth", "svc-of-nobody"]) {
      const claim = connect.services.createServiceAccount({ ...request, ownedAudiences: [foreign] }, asAdmin())
      expect(await refusal(claim)).toBe("InvalidArgument AUDIENCE_NOT_REGISTERED")
    }
    await server.deps.store.transaction((tx) => tx.apps.putApp(server.app))
  })

  test("gets no scope that the app lacks, nor one of the auth service that its maker does not hold", async () => {
    const greedy = { ...request, scopes: ["notes.read", "notes.fly"] }
    expect(await reasonOf(connect.services.createServiceAccount(greedy, asAdmin()))).toBe("INVALID_FIELD")
    const introspecting = { ...request, scopes: ["auth.introspect"], defaultScopes: [] }
    const refused = connect.services.createServiceAccount(introspecting, asAdmin())
    expect(await refusal(refused)).toBe("PermissionDenied SCOPE_NOT_GRANTED")
    const more = await person({ scopes: [...rights, "auth.introspect"] })
    await connect.services.createServiceAccount(introspecting, bearer(more.token))
  })

  test("is managed by administrators only, who may read without being able to write", async () => {
    const { id } = await make()
    const reader = await person({ scopes: ["auth.service_accounts.read"] })
    const nobody = await person()
    await connect.services.getServiceAccount({ serviceAccountId: id }, bearer(reader.token))
    const { clientId, secret } = await serviceWithSecret()
    const service = await tokenOf(clientId, secret, "auth")
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

  async function serviceWithSecret() {
    const { id, clientId } = await make()
    const { secret } = await connect.services.addSecret({ serviceAccountId: id }, asAdmin())
    return { id, clientId, secret }
  }

  test("of another app or tenant looks like one that does not exist, and the audit knows which", async () => {
    const { id } = await make()
    const otherApp: App = { ...server.app, id: newId("app", 7, server.deps.random.bytes(10)) }
    await server.deps.store.transaction(async (tx) => {
      await tx.apps.putApp(otherApp)
      const clientId = newId("pcl", 7, server.deps.random.bytes(10))
      await tx.apps.putProviderClient({ ...server.client, id: clientId, appId: otherApp.id })
    })
    const tenantId = newId("ten", 7, server.deps.random.bytes(10))
    const elsewhere = [
      await person({ scopes: rights, app: otherApp }),
      await person({ scopes: rights, tenantId }),
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
      expect((await connect.services.listServiceAccounts({}, bearer(token))).serviceAccounts).toEqual([])
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
    expect((await show(id)).secrets).toEqual([])
  })

  test("of a tenant is the tenant's own", async () => {
    const tenantId = newId("ten", 8, server.deps.random.bytes(10))
    const inside = await person({ scopes: rights, tenantId })
    const { serviceAccount } = await connect.services.createServiceAccount(request, bearer(inside.token))
    expect(serviceAccount).toMatchObject({ tenantId, appId: server.app.id })
    const outside = connect.services.getServiceAccount({ serviceAccountId: serviceAccount?.id ?? "" }, asAdmin())
    expect(await refusal(outside)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    const { serviceAccounts } = await connect.services.listServiceAccounts({}, bearer(inside.token))
    expect(serviceAccounts).toEqual([serviceAccount])
    // It cannot take what the whole app uses.
    const owning = { ...request, ownedAudiences: ["svc-notes"] }
    const claim = connect.services.createServiceAccount(owning, bearer(inside.token))
    expect(await refusal(claim)).toBe("InvalidArgument INVALID_FIELD")
  })

  test("another account's secret or key is not found", async () => {
    const [one, other] = [await serviceWithSecret(), await serviceWithSecret()]
    const [secret] = (await show(other.id)).secrets
    const revoke = { serviceAccountId: one.id, secretId: secret?.id ?? "" }
    expect(await refusal(connect.services.revokeSecret(revoke, asAdmin()))).toBe("NotFound NOT_FOUND")
    await tokenOf(other.clientId, other.secret)
    const key = { serviceAccountId: one.id, kid: "A".repeat(43) }
    expect(await refusal(connect.services.revokeKey(key, asAdmin()))).toBe("NotFound NOT_FOUND")
  })

  test("takes no key that is no point of P-256, and no private one", async () => {
    const { id: serviceAccountId } = await make()
    const { x = "", y = "", d = "" } = freshKey()
    const bad = { serviceAccountId, x, y: x }
    expect(await refusal(connect.services.addKey(bad, asAdmin()))).toBe("InvalidArgument INVALID_FIELD")
    // The same bytes in another spelling would be another thumbprint.
    const spare = { serviceAccountId, x: `${x.slice(0, -1)}B`, y }
    expect(await refusal(connect.services.addKey(spare, asAdmin()))).toBe("InvalidArgument INVALID_FIELD")
    const response = await post(`/auth/service-accounts/${serviceAccountId}/keys`, { x, y, d })
    expect([response.status, (await response.json()).reason]).toEqual([400, "UNKNOWN_FIELD"])
    expect((await show(serviceAccountId)).keys).toEqual([])
  })

  test("revokes a key that another service has too without touching the other's tokens", async () => {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const { x = "", y = "" } = pair.publicKey.export({ format: "jwk" })
    const kid = await calculateJwkThumbprint({ kty: "EC", crv: "P-256", x, y })
    const tokenBy = async (clientId: string) => {
      const clientAssertion = await new SignJWT({ jti: Math.random().toString() })
        .setProtectedHeader({ alg: "ES256", kid })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience("https://auth.example")
        .setIssuedAt()
        .setExpirationTime("30s")
        .sign(pair.privateKey)
      const clientAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
      const asked = { grantType: "client_credentials", clientAssertion, clientAssertionType, audience: "auth" }
      return (await connect.tokens.token(asked)).accessToken
    }
    const tokens: string[] = []
    const accounts = [await make(connect, keyed), await make(connect, keyed)] as const
    for (const { id, clientId } of accounts) {
      await connect.services.addKey({ serviceAccountId: id, x, y }, asAdmin())
      tokens.push(await tokenBy(clientId))
    }
    await connect.services.revokeKey({ serviceAccountId: accounts[0].id, kid }, asAdmin())
    const answers = await Promise.all(tokens.map((token) => refusal(connect.auth.me({}, bearer(token)))))
    expect(answers).toEqual(["Unauthenticated CREDENTIAL_REVOKED", "PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"])
    expect(await reasonOf(tokenBy(accounts[0].clientId))).toBe("CLIENT_INVALID")
    await tokenBy(accounts[1].clientId)
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
    const response = await post("/auth/service-accounts", body)
    expect([response.status, (await response.json()).reason]).toEqual([400, "UNKNOWN_FIELD"])
  })

  test("is found by the address, which a body cannot contradict", async () => {
    const [one, other] = [await make(), await make()]
    const response = await post(`/auth/service-accounts/${one.id}/secrets`, { serviceAccountId: other.id })
    expect([response.status, (await response.json()).reason]).toEqual([400, "FIELD_CONFLICT"])
    const added = await post(`/auth/service-accounts/${one.id}/secrets`, {})
    expect([added.status, added.headers.get("cache-control")]).toEqual([200, "no-store"])
    const full = await post(`/auth/service-accounts/${one.id}:rotateSecret`, { overlap: "7200s" })
    expect(full.status).toBe(200)
    const limit = await post(`/auth/service-accounts/${one.id}/secrets`, {})
    expect([limit.status, (await limit.json()).reason]).toEqual([409, "CREDENTIAL_LIMIT"])
  })

  const post = (path: string, body: object) =>
    fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { ...asAdmin().headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    })

  test("ends with its principal: no secret of it serves again", async () => {
    const { clientId, secret, id } = await serviceWithSecret()
    const { serviceAccount } = await show(id)
    const token = await tokenOf(clientId, secret, "auth")
    const principalId = serviceAccount?.principalId as never
    await server.deps.store.transaction((tx) => tx.principals.end(principalId, "SUSPENDED", server.deps.clock.nowMs()))
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated PRINCIPAL_INACTIVE")
    await server.deps.store.transaction((tx) => tx.principals.resume(principalId, 5))
    expect(await reasonOf(tokenOf(clientId, secret))).toBe("CLIENT_INVALID")
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated CREDENTIAL_REVOKED")
    expect((await show(id)).secrets.map(({ status }) => status)).toEqual([ServiceSecret_Status.REVOKED])
  })

  // The last: it moves the clock past everybody's access tokens.
  test("a replaced secret serves to the end of its overlap and not longer", async () => {
    const { id, clientId, secret } = await serviceWithSecret()
    const overlap = { seconds: 3_600n, nanos: 0 }
    const next = await connect.services.rotateSecret({ serviceAccountId: id, overlap }, asAdmin())
    server.advance(3_590_000)
    await tokenOf(clientId, secret)
    server.advance(10_000)
    expect(await reasonOf(tokenOf(clientId, secret))).toBe("CLIENT_INVALID")
    await tokenOf(clientId, next.secret)
    server.advance(180 * daySeconds * 1_000 - 3_600_000)
    expect(await reasonOf(tokenOf(clientId, next.secret))).toBe("CLIENT_INVALID")
  })
})

const freshKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })

function transportOf(protocol: string, { url }: TestServer) {
  const transport = protocols[protocol]
  if (!transport) throw new Error(protocol)
  return transport(url)
}

type At = { seconds: bigint } | undefined
const secondsOf = (at: At): number => Number(at?.seconds ?? 0n)
const lifeOf = (secret: { createdAt?: At; expiresAt?: At } | undefined): number =>
  secondsOf(secret?.expiresAt) - secondsOf(secret?.createdAt)

const text = (message: object): string =>
  JSON.stringify(message, (_, value) => (typeof value === "bigint" ? String(value) : value))
