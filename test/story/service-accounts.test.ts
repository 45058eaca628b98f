// The life of services' secrets and keys.
import { generateKeyPairSync } from "node:crypto"
import { ServiceAccount_Status, ServiceSecret_Status } from "@signet/proto/auth/v1/service_account_service"
import { calculateJwkThumbprint, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { claimsOf } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"
import type { TestServer } from "../support/server.ts"
import {
  daySeconds,
  keyed,
  reasonOf,
  request,
  type ServiceAccountWorld,
  startServiceAccounts,
  transportOf,
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

  describe.each(Object.keys(protocols))("over %s", (protocol) => {
    let clients: Clients
    beforeAll(() => {
      clients = clientsOver(transportOf(protocol, server))
    })

    test("gets a secret, calls with it, rotates it with an exact overlap, and revokes it", async () => {
      const account = await world.make(clients)
      const serviceAccountId = account.id
      expect(account).toMatchObject({ ...request, clientId: account.id, status: ServiceAccount_Status.ACTIVE })
      const first = await clients.services.addSecret({ serviceAccountId, expiresInDays: 10 }, world.asAdmin())
      expect(first.secret).toMatch(/^sgsec_[0-9A-Za-z]{50}$/)
      expect(lifeOf(first.serviceSecret)).toBe(10 * daySeconds)
      expect(first.serviceSecret?.hint).toBe(first.secret.slice(-4))
      const token = await world.tokenOf(account.clientId, first.secret)
      expect(claimsOf(token)).toMatchObject({
        sub: account.principalId,
        principal_type: "service",
        gty: "client_credentials",
        cred_id: first.serviceSecret?.id,
        scp: ["notes.read"],
      })

      const overlap = { seconds: 3_600n, nanos: 0 }
      const second = await clients.services.rotateSecret({ serviceAccountId, overlap }, world.asAdmin())
      expect(lifeOf(second.serviceSecret)).toBe(180 * daySeconds)
      const [replaced] = second.replaced
      expect(replaced).toMatchObject({ id: first.serviceSecret?.id, status: ServiceSecret_Status.ACTIVE })
      expect(secondsOf(replaced?.expiresAt) - secondsOf(second.serviceSecret?.createdAt)).toBe(3_600)

      const shown = await world.show(account.id, clients)
      expect(shown.serviceAccount).toEqual(account)
      const ids = [second.serviceSecret?.id, first.serviceSecret?.id]
      expect(shown.secrets.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
      expect(secondsOf(shown.secrets.find(({ id }) => id === ids[1])?.lastUsedAt)).toBeGreaterThan(0)
      const listed = await clients.services.listServiceAccounts({ pageSize: 1 }, world.asAdmin())
      expect(listed.serviceAccounts).toEqual([account])
      for (const secret of [first.secret, second.secret]) {
        expect(text(shown)).not.toContain(secret)
        expect(text(listed)).not.toContain(secret)
        await world.tokenOf(account.clientId, secret)
      }

      const revoke = { serviceAccountId, secretId: second.serviceSecret?.id ?? "" }
      await clients.services.revokeSecret(revoke, world.asAdmin())
      await clients.services.revokeSecret(revoke, world.asAdmin())
      expect(await reasonOf(world.tokenOf(account.clientId, second.secret))).toBe("CLIENT_INVALID")
      await world.tokenOf(account.clientId, first.secret)
      expect(await world.kindsOf(account.principalId)).toEqual([
        "service_account.created",
        "service_account.secret_added",
        "service_account.secret_rotated",
        "service_account.secret_revoked",
      ])
    })

    test("is disabled and enabled; its earlier access tokens stay refused", async () => {
      const account = await world.make(clients)
      const serviceAccountId = account.id
      const { secret } = await clients.services.addSecret({ serviceAccountId }, world.asAdmin())
      const token = await world.tokenOf(account.clientId, secret, "auth")
      // Authenticated, but of a kind that may not call it.
      expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED")
      await clients.services.disableServiceAccount({ serviceAccountId }, world.asAdmin())
      await clients.services.disableServiceAccount({ serviceAccountId }, world.asAdmin())
      expect((await world.show(account.id)).serviceAccount?.status).toBe(ServiceAccount_Status.DISABLED)
      expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("Unauthenticated PRINCIPAL_INACTIVE")
      expect(await reasonOf(world.tokenOf(account.clientId, secret))).toBe("CLIENT_INVALID")
      server.advance(1_000)
      await clients.services.enableServiceAccount({ serviceAccountId }, world.asAdmin())
      // Verifiers got the revocation from the feed, and the feed never withdraws it.
      expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("Unauthenticated TOKEN_REVOKED")
      const next = await world.tokenOf(account.clientId, secret, "auth")
      expect(await refusal(clients.auth.me({}, bearer(next)))).toBe("PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED")
      expect(await world.kindsOf(account.principalId)).toEqual([
        "service_account.created",
        "service_account.secret_added",
        "service_account.disabled",
        "service_account.enabled",
      ])
    })

    test("has public keys, identified by thumbprint, and cannot add a revoked one again", async () => {
      const account = await world.make(clients, keyed)
      const { x = "", y = "" } = freshKey()
      const key = { serviceAccountId: account.id, x, y }
      const { serviceKey } = await clients.services.addKey(key, world.asAdmin())
      const kid = await calculateJwkThumbprint({ kty: "EC", crv: "P-256", x, y })
      expect(serviceKey).toMatchObject({ kid, x, y })
      const { x: x2 = "", y: y2 = "" } = freshKey()
      const other = await clients.services.addKey({ ...key, x: x2, y: y2 }, world.asAdmin())
      expect((await clients.services.addKey(key, world.asAdmin())).serviceKey).toEqual(serviceKey)
      expect(await clients.services.addKey({ ...key, x: x2, y: y2 }, world.asAdmin())).toEqual(other)
      const unknown = { serviceAccountId: account.id, kid: `${kid.startsWith("x") ? "y" : "x"}${kid.slice(1)}` }
      expect(await reasonOf(clients.services.revokeKey(unknown, world.asAdmin()))).toBe("NOT_FOUND")
      await clients.services.revokeKey({ serviceAccountId: account.id, kid }, world.asAdmin())
      await clients.services.revokeKey({ serviceAccountId: account.id, kid }, world.asAdmin())
      expect(await reasonOf(clients.services.addKey(key, world.asAdmin()))).toBe("INVALID_FIELD")
      const shown = (await world.show(account.id, clients)).keys.find((one) => one.kid === kid)
      expect(secondsOf(shown?.revokedAt)).toBeGreaterThan(0)
      expect(await world.kindsOf(account.principalId)).toEqual([
        "service_account.created",
        "service_account.key_added",
        "service_account.key_added",
        "service_account.key_revoked",
      ])
    })
  })

  test("has at most two live secrets; a rotation without an overlap ends both, and their tokens", async () => {
    const account = await world.make()
    const serviceAccountId = account.id
    const one = await connect.services.addSecret({ serviceAccountId }, world.asAdmin())
    const two = await connect.services.addSecret({ serviceAccountId }, world.asAdmin())
    expect(lifeOf(one.serviceSecret)).toBe(180 * daySeconds)
    expect(await reasonOf(connect.services.addSecret({ serviceAccountId }, world.asAdmin()))).toBe("CREDENTIAL_LIMIT")
    expect(await reasonOf(connect.services.rotateSecret({ serviceAccountId }, world.asAdmin()))).toBe(
      "CREDENTIAL_LIMIT",
    )
    const token = await world.tokenOf(account.clientId, one.secret, "auth")
    const overlap = { seconds: 0n, nanos: 0 }
    const three = await connect.services.rotateSecret({ serviceAccountId, overlap }, world.asAdmin())
    expect(three.replaced.map(({ status }) => status)).toEqual(Array(2).fill(ServiceSecret_Status.REVOKED))
    for (const { secret } of [one, two]) {
      expect(await reasonOf(world.tokenOf(account.clientId, secret))).toBe("CLIENT_INVALID")
    }
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated CREDENTIAL_REVOKED")
    await world.tokenOf(account.clientId, three.secret)
    const tooLong = { serviceAccountId, overlap: { seconds: 604_801n, nanos: 0 } }
    expect(await reasonOf(connect.services.rotateSecret(tooLong, world.asAdmin()))).toBe("INVALID_FIELD")
  })

  test("gets one of two secrets requested at the same time if it has one already", async () => {
    const { id: serviceAccountId } = await world.make()
    await connect.services.addSecret({ serviceAccountId }, world.asAdmin())
    const calls = Array.from({ length: 5 }, () => connect.services.addSecret({ serviceAccountId }, world.asAdmin()))
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
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
    const accounts = [await world.make(connect, keyed), await world.make(connect, keyed)] as const
    for (const { id, clientId } of accounts) {
      await connect.services.addKey({ serviceAccountId: id, x, y }, world.asAdmin())
      tokens.push(await tokenBy(clientId))
    }
    await connect.services.revokeKey({ serviceAccountId: accounts[0].id, kid }, world.asAdmin())
    const answers = await Promise.all(tokens.map((token) => refusal(connect.auth.me({}, bearer(token)))))
    expect(answers).toEqual(["Unauthenticated CREDENTIAL_REVOKED", "PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"])
    expect(await reasonOf(tokenBy(accounts[0].clientId))).toBe("CLIENT_INVALID")
    await tokenBy(accounts[1].clientId)
  })

  test("ends with its principal: none of its secrets is accepted again", async () => {
    const { clientId, secret, id } = await world.serviceWithSecret()
    const { serviceAccount } = await world.show(id)
    const token = await world.tokenOf(clientId, secret, "auth")
    const principalId = serviceAccount?.principalId as never
    await server.deps.store.transaction((tx) => tx.principals.end(principalId, "SUSPENDED", server.deps.clock.nowMs()))
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated PRINCIPAL_INACTIVE")
    await server.deps.store.transaction((tx) => tx.principals.resume(principalId, 5))
    expect(await reasonOf(world.tokenOf(clientId, secret))).toBe("CLIENT_INVALID")
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated CREDENTIAL_REVOKED")
    expect((await world.show(id)).secrets.map(({ status }) => status)).toEqual([ServiceSecret_Status.REVOKED])
  })

  // The last test, because it moves the clock past the expiry of all access tokens.
  test("a replaced secret is valid until the end of its overlap", async () => {
    const { id, clientId, secret } = await world.serviceWithSecret()
    const overlap = { seconds: 3_600n, nanos: 0 }
    const next = await connect.services.rotateSecret({ serviceAccountId: id, overlap }, world.asAdmin())
    server.advance(3_590_000)
    await world.tokenOf(clientId, secret)
    server.advance(10_000)
    expect(await reasonOf(world.tokenOf(clientId, secret))).toBe("CLIENT_INVALID")
    await world.tokenOf(clientId, next.secret)
    server.advance(180 * daySeconds * 1_000 - 3_600_000)
    expect(await reasonOf(world.tokenOf(clientId, next.secret))).toBe("CLIENT_INVALID")
  })
})

const freshKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })

type At = { seconds: bigint } | undefined
const secondsOf = (at: At): number => Number(at?.seconds ?? 0n)
const lifeOf = (secret: { createdAt?: At; expiresAt?: At } | undefined): number =>
  secondsOf(secret?.expiresAt) - secondsOf(secret?.createdAt)

const text = (message: object): string =>
  JSON.stringify(message, (_, value) => (typeof value === "bigint" ? String(value) : value))
