// Nobody can read the grants of others without permission, and no token keeps a revoked grant.
import { newId } from "@signet/kernel/ids"
import type { Membership } from "@signet/kernel/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { type Clients, clientsOver, protocols } from "../support/clients.ts"
import { effort, isLong } from "../support/effort.ts"
import { addMachine, addPat, type Machine } from "../support/machines.ts"
import { addNotesAccount, editNote, snapshotScope } from "../support/notes-service.ts"
import { claimsOf, type SignedInPerson, signIn } from "../support/people.ts"
import { describeOnPostgres, storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

async function start(kind: "pglite" | "postgres") {
  const server = await startTestServer({ store: kind })
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  const clients = clientsOver(connect(server.url))
  const world = await administeredWorld(server, clients)
  const root = world.as("root")
  await clients.admin.createPermission({ appId: world.app.id, permission: { key: editNote } }, root)
  return { server, clients, world, root }
}

describe("a snapshot is", () => {
  let server: TestServer
  let clients: Clients
  let world: AdministeredWorld
  let ada: SignedInPerson
  let ofTenant: SignedInPerson
  const readers: Record<string, Machine> = {}
  beforeAll(async () => {
    ;({ server, clients, world } = await start(storyStore))
    const { app, other, tenant } = world
    readers.own = await addNotesAccount(server, app)
    readers.other = await addNotesAccount(server, other)
    readers.tenant = await addMachine(server, {
      ...{ appId: app.id, tenantId: tenant.id, allowedAudiences: ["auth"], scopes: [snapshotScope] },
    })
    readers.scopeless = await addMachine(server, { appId: app.id, allowedAudiences: ["auth"], scopes: [] })
    ada = await signIn(server, clients, "ada", { app })
    ofTenant = await signIn(server, clients, "tom", { app, tenantId: tenant.id })
  })
  afterAll(() => server?.close())

  const tokenOf = async ({ account, secret }: Machine) => {
    const proof = { clientId: account.clientId, clientSecret: secret, tenantId: account.tenantId ?? "" }
    const { accessToken } = await clients.tokens.token({
      grantType: "client_credentials",
      audience: "auth",
      ...proof,
      scope: account.scopes.join(" "),
    })
    return accessToken
  }
  const ask = async (token: string, change: Record<string, string> = {}) => {
    const { principal, ...query } = { ...asked(ada.principalId, await versionOf(ada)), ...change }
    const url = `${server.url}/auth/permissions/${principal}?${new URLSearchParams(query)}`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    const { instance: _, ...body } = JSON.parse(await answer.text())
    return { status: answer.status, caching: answer.headers.get("cache-control"), reason: body.reason, body }
  }
  const asked = (principal: string, permVer: number) => ({ principal, appId: world.app.id, permVer: String(permVer) })
  const versionOf = async ({ principalId }: SignedInPerson) => {
    const found = await server.deps.store.transaction((tx) => tx.authorities.find(principalId, world.app.id))
    return found.principal + found.policy
  }
  const reader = (name: string) => {
    const found = readers[name]
    if (found === undefined) throw new Error(name)
    return tokenOf(found)
  }

  test("cacheable forever by the service that asked; a refusal is not cacheable", async () => {
    const { status, caching, body } = await ask(await reader("own"))
    expect([status, caching]).toEqual([200, "private, max-age=31536000, immutable"])
    expect(claimsOf(body.jws)).toMatchObject({ sub: ada.principalId, app_id: world.app.id, grants: [] })
    const header = JSON.parse(Buffer.from(body.jws.split(".")[0], "base64url").toString())
    expect(header).toMatchObject({ alg: "ES256", typ: "perm+jwt" })
    expect((await ask(await reader("scopeless"))).caching).toBe("no-store")
  })

  test("refused to users and to services without the scope", async () => {
    const scoped = await signIn(server, clients, "curious", { app: world.app, scopes: [snapshotScope] })
    expect((await ask(scoped.token)).reason).toBe("PRINCIPAL_KIND_NOT_ALLOWED")
    expect((await ask(await reader("scopeless"))).reason).toBe("MISSING_SCOPE")
    expect((await ask(world.people.root.token)).reason).toBe("PRINCIPAL_KIND_NOT_ALLOWED")
  })

  test("refused with the same bytes for another app, another tenant and a missing user", async () => {
    const [own, other, tenant] = [await reader("own"), await reader("other"), await reader("tenant")]
    const id = <K extends "prn" | "ten" | "ctx" | "app">(kind: K) => newId(kind, 1, new Uint8Array(10))
    const suspended = await signIn(server, clients, "suspended", { app: world.app })
    await clients.admin.suspendPrincipal({ principalId: suspended.principalId }, world.as("root"))
    const ofSuspended = { principal: suspended.principalId, permVer: String(await versionOf(suspended)) }
    const tom = { principal: ofTenant.principalId, permVer: String(await versionOf(ofTenant)) }
    const refusals = {
      "of nobody": await ask(own, { principal: id("prn") }),
      "of a suspended member": await ask(own, ofSuspended),
      "of somebody of another app": await ask(own, { principal: world.people.otherAdmin.principalId }),
      "in another app": await ask(own, { appId: world.other.id }),
      "in no app": await ask(own, { appId: id("app") }),
      "in no tenant": await ask(own, { tenantId: id("ten") }),
      "in a tenant that they are not in": await ask(own, { tenantId: world.tenant.id }),
      "in another tenant's context": await ask(own, {
        ...tom,
        tenantId: world.otherTenant.id,
        contextId: world.context.id,
      }),
      "by another app's service": await ask(other),
      "by a tenant's service, of the app": await ask(tenant),
      "by a tenant's service, of the app, of a member": await ask(tenant, tom),
      "by a tenant's service, of another tenant": await ask(tenant, { ...tom, tenantId: world.otherTenant.id }),
    }
    for (const [name, refused] of Object.entries(refusals)) {
      expect([name, refused]).toEqual([name, refusals["of nobody"]])
    }
    expect(refusals["of nobody"]).toMatchObject({ status: 403, reason: "RESOURCE_UNRESOLVED", caching: "no-store" })
    expect(await ask(tenant, { ...tom, tenantId: world.tenant.id })).toMatchObject({ status: 200 })
    expect(await ask(own, { ...tom, tenantId: world.tenant.id })).toMatchObject({ status: 200 })
  })

  test("of the requested version only", async () => {
    const token = await reader("own")
    const current = await versionOf(ada)
    expect(await ask(token, { permVer: String(current - 1) })).toMatchObject({
      status: 409,
      reason: "SNAPSHOT_OUTDATED",
    })
    expect(await ask(token, { permVer: String(current + 1) })).toMatchObject({ status: 400, reason: "INVALID_FIELD" })
    for (const permVer of ["-1", "1e3", "9007199254740993", "x"]) {
      expect((await ask(token, { permVer })).status).toBe(400)
    }
  })

  test("not accepted by the service as a credential or token", async () => {
    const { body } = await ask(await reader("own"))
    expect((await ask(body.jws)).reason).toBe("TYP_NOT_ALLOWED")
  })

  test.runIf(isLong)("bounded by the limit on grants", async () => {
    const max = await signIn(server, clients, "max", { app: world.app })
    const { app } = world
    const nowMs = server.deps.clock.nowMs()
    const root = world.as("root")
    const { role } = await clients.admin.createRole(
      { appId: app.id, role: { key: "max", permissions: [editNote] } },
      root,
    )
    const on = (id: string) => ({
      appId: app.id,
      principalId: max.principalId,
      roleId: role?.id ?? "",
      resource: { type: "note", id },
    })
    await server.deps.store.transaction(async (tx) => {
      for (let i = 0; i < 199; i++) {
        await tx.grants.insert({
          ...on(`n${i}`),
          ...{ appId: app.id, roleId: role?.id as never, id: newId("grt", nowMs, server.deps.random.bytes(10)) },
          ...{
            tenantId: null,
            contextId: null,
            expiresAtMs: null,
            grantedBy: max.principalId,
          },
          ...{ reason: "", status: "ACTIVE", createdAtMs: nowMs, revokedAtMs: null },
        })
      }
    })
    await clients.admin.createGrant(on("last"), root)
    const more = clients.admin.createGrant(on("more"), root)
    await expect(more).rejects.toThrow("limit of grants in this app")
    const permVer = String(await versionOf(max))
    const { body } = await ask(await reader("own"), { principal: max.principalId, permVer })
    expect(claimsOf(body.jws).grants).toHaveLength(200)
  })
})

describeOnPostgres("what is taken away while tokens are issued", () => {
  let of: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    of = await start("postgres")
  })
  afterAll(() => of?.server.close())

  test.runIf(isLong)("is in no token with the version of the removal or a later one", async () => {
    const { server, clients, world, root } = of
    const { app } = world
    // No member gets this scope by default.
    const scope = "notes.share"
    await server.deps.store.transaction(async (tx) => {
      const there = (await tx.apps.findApp(app.id)) ?? app
      const shared = { key: scope, audience: "svc-notes", isDefault: false }
      await tx.apps.putApp({ ...there, scopes: [...there.scopes, shared] })
    })
    const ada = await signIn(server, clients, "ada", { app, audiences: ["auth", "svc-notes"] })
    const identityId = String(claimsOf(ada.token).identity_id)
    const { token: pat } = await addPat(
      server,
      { principalId: ada.principalId, identityId: identityId as never },
      { appId: app.id, scopes: [scope] },
    )
    const [membership] = await server.deps.store.transaction((tx) =>
      tx.identities.findMemberships(ada.principalId, app.id),
    )
    const setScopes = (scopes: Membership["scopes"]) =>
      clients.admin.updateMembership(
        {
          appId: app.id,
          membershipId: membership?.id ?? "",
          membership: { scopes: [...scopes] },
          updateMask: { paths: ["scopes"] },
        },
        root,
      )
    const request = async () => ({ ...(await server.login("ada")), appId: app.id, audiences: ["svc-notes"] })
    let outdated = 0
    let current = 0
    const rounds = effort(6, 40, 200)
    const isOver = (round: number) => round >= rounds && ((outdated > 0 && current > 0) || round >= 10 * rounds)
    for (let round = 0; !isOver(round); round++) {
      await setScopes([scope])
      const requests = await Promise.all([request(), request()])
      const [tokens] = await Promise.all([
        Promise.all([
          ...requests.map(async (one) => (await clients.auth.externalLogin(one)).accessToken),
          ...[1, 2].map(() =>
            clients.tokens.token({ grantType: "pat", pat, audience: "svc-notes" }).then(
              ({ accessToken }) => accessToken,
              // A user without any scope gets no token.
              () => undefined,
            ),
          ),
        ]),
        setScopes([]),
      ])
      const { minimum } = await server.store.liveness.find({
        ...{ principalId: ada.principalId, appId: app.id, tenantId: null, contextId: null, nowMs: 0, issuedAtMs: 0 },
        ...{ actorId: null, sessionId: null, credentialId: null, tokenId: null },
      })
      for (const token of tokens.filter((one) => one !== undefined)) {
        const { perm_ver, pol_ver, scp } = claimsOf(token)
        const isOutdated = Number(perm_ver) - Number(pol_ver) < minimum.principal
        if (isOutdated) outdated++
        else expect(scp).not.toContain(scope)
        if (!isOutdated) current++
      }
    }
    // The race must produce both results.
    expect(outdated).toBeGreaterThan(0)
    expect(current).toBeGreaterThan(0)
  })
})
