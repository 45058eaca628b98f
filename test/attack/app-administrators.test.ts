// Attempts by one app's administrators on shared resources, and by removed members on what they once had.
import { generateKeyPairSync } from "node:crypto"
import { Membership_Status, Platform, Provider } from "@signet/proto/auth/v1/records"
import { ClientAuthMethod } from "@signet/proto/auth/v1/service_account_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startAdministeredServer } from "../support/administered-server.ts"
import type { AdministeredWorld } from "../support/administration.ts"
import { bearer, type Clients, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { signIn } from "../support/people.ts"
import type { TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
beforeAll(async () => {
  ;({ server, clients, world } = await startAdministeredServer())
})
afterAll(() => server?.close())

describe("an app's administrator", () => {
  test("gets no tokens for another app's service", async () => {
    const appId = world.other.id
    const own = [...world.other.audiences]
    const change = { audiences: [...own, "svc-of-another-app"] }
    const by = world.as("otherAdmin")
    expect(await refusal(clients.admin.updateApp({ appId, app: change }, by))).toBe("InvalidArgument OUTPUT_ONLY_FIELD")
    const { app } = await clients.admin.updateApp({ appId, app: change }, world.as("root"))
    expect(app?.audiences).toEqual(change.audiences)
    // Audiences that the app already has may stay, and may be removed.
    await clients.admin.updateApp({ appId, app: { ...change, name: "Renamed" } }, by)
    const fewer = await clients.admin.updateApp({ appId, app: { audiences: own } }, by)
    expect(fewer.app?.audiences).toEqual(own)
  })

  test("cannot configure another app's client id, and so gets neither its tokens nor its notifications", async () => {
    const { issuers, jwksUri, clientId } = server.client
    const client = { provider: Provider.IDP_A, platform: Platform.ANDROID, issuers: [...issuers], jwksUri }
    const create = (of: object) =>
      clients.admin.createProviderClient(
        { appId: world.other.id, providerClient: { ...client, clientId: "draw-android", ...of } },
        world.as("otherAdmin"),
      )
    for (const fields of [{ clientId }, { audiences: ["draw-android", clientId] }]) {
      expect(await refusal(create(fields))).toBe("InvalidArgument OUTPUT_ONLY_FIELD")
    }
    const { providerClient } = await create({})
    const change = { appId: world.other.id, providerClientId: providerClient?.id ?? "" }
    const update = (audiences: string[]) =>
      clients.admin.updateProviderClient({ ...change, providerClient: { audiences } }, world.as("otherAdmin"))
    expect(await refusal(update([clientId]))).toBe("InvalidArgument OUTPUT_ONLY_FIELD")
    await update(["draw-android", "draw-ios"])
  })
})

describe("an invitation that grants a scope of the auth service", () => {
  const scopes = ["auth.members.write"]
  const invite = async () => {
    const inviter = await signIn(server, clients, `inviter ${Math.random()}`, { app: world.app, scopes })
    const { code } = await clients.admin.inviteMember({ appId: world.app.id, scopes }, bearer(inviter.token))
    const found = await clients.admin.listMemberships(
      { appId: world.app.id, principalId: inviter.principalId },
      world.as("admin"),
    )
    return { code, of: { appId: world.app.id, membershipId: found.memberships[0]?.id ?? "" }, inviter }
  }
  const take = async (invitationCode: string) => {
    const login = await server.login(`taker ${Math.random()}`)
    return clients.auth.externalLogin({ ...login, appId: world.app.id, invitationCode })
  }

  test("is accepted while its inviter holds the scope", async () => {
    const { code } = await invite()
    expect((await take(code)).membership?.scopes).toEqual(scopes)
  })

  test.runIf(isLong)("is refused once its inviter was removed, was suspended or lost the scope", async () => {
    const { admin } = clients
    const by = world.as("admin")
    const endings = [
      ({ of }: Awaited<ReturnType<typeof invite>>) => admin.removeMembership(of, by),
      ({ of }: Awaited<ReturnType<typeof invite>>) => admin.suspendMembership(of, by),
      ({ of }: Awaited<ReturnType<typeof invite>>) =>
        admin.updateMembership({ ...of, membership: {}, updateMask: { paths: ["scopes"] } }, by),
      ({ inviter }: Awaited<ReturnType<typeof invite>>) =>
        admin.suspendPrincipal({ principalId: inviter.principalId }, world.as("root")),
    ]
    for (const end of endings) {
      const invited = await invite()
      const member = await signIn(server, clients, `member ${Math.random()}`, { app: world.app })
      await end(invited)
      expect(await refusal(take(invited.code))).toMatch(/INVITATION_INVALID/)
      const accept = clients.account.acceptInvitation({ code: invited.code }, bearer(member.token))
      expect(await refusal(accept)).toMatch(/INVITATION_INVALID/)
    }
  })

  test("for a known person is refused once its inviter lost the scope, and they gain none", async () => {
    const { admin, account } = clients
    const by = world.as("admin")
    const { inviter, of } = await invite()
    const { token, principalId } = await signIn(server, clients, "known", { app: world.app })
    const at = { appId: world.app.id, tenantId: world.tenant.id, principalId }
    const { code } = await admin.inviteMember({ ...at, scopes }, bearer(inviter.token))
    await admin.updateMembership({ ...of, membership: {}, updateMask: { paths: ["scopes"] } }, by)
    expect(await refusal(account.acceptInvitation({ code }, bearer(token)))).toMatch(/INVITATION_INVALID/)
    const { memberships } = await admin.listMemberships({ appId: world.app.id, principalId }, by)
    const active = memberships.filter(({ status }) => status === Membership_Status.ACTIVE)
    expect(active.map((one) => ({ tenantId: one.tenantId, scopes: one.scopes }))).toEqual([
      { tenantId: "", scopes: [] },
    ])
  })

  test("grants only the scopes that the inviter still holds", async () => {
    const { admin, account } = clients
    const by = world.as("admin")
    const { token, principalId } = await signIn(server, clients, "invited", { app: world.app })
    const at = { appId: world.app.id, tenantId: world.tenant.id }
    const { code, invitation } = await admin.inviteMember({ ...at, principalId, scopes }, by)
    const of = { appId: world.app.id, membershipId: invitation?.membershipId ?? "" }
    await admin.updateMembership({ ...of, membership: {}, updateMask: { paths: ["scopes"] } }, by)
    const { membership } = await account.acceptInvitation({ code }, bearer(token))
    expect(membership).toMatchObject({ id: of.membershipId, scopes: [] })
  })
})

test("a member who is suspended in a tenant has no access to its contexts", async () => {
  const { admin, auth, pats } = clients
  const appId = world.app.id
  const place = { tenantId: world.tenant.id, contextId: world.context.id }
  const person = await signIn(server, clients, "suspended", { app: world.app, ...place })
  const asked = { name: "laptop", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const { token: pat } = await pats.createPat(asked, bearer(person.token))
  const { principalId } = person
  const { membership } = await admin.createMembership(
    { appId, principalId, tenantId: place.tenantId },
    world.as("root"),
  )
  const of = { appId, membershipId: membership?.id ?? "" }
  const audiences = ["auth"]
  const signInThere = async () =>
    auth.externalLogin({ ...(await server.login("suspended")), appId, ...place, audiences })
  const invite = () => admin.inviteMember({ appId, ...place, contextId: world.context.id }, world.as("root"))

  await admin.suspendMembership(of, world.as("tenantAdmin"))
  const { code: invitationCode } = await invite()
  const outside = await signIn(server, clients, "suspended", { app: world.app })
  for (const [what, tried] of Object.entries({
    signIn: signInThere,
    invitation: async () =>
      auth.externalLogin({ ...(await server.login("suspended")), appId, ...place, invitationCode }),
    acceptance: () => clients.account.acceptInvitation({ code: invitationCode }, bearer(outside.token)),
    pat: () => pats.exchangePat({ pat }),
  })) {
    expect([what, await refusal(tried())]).toEqual([what, expect.stringMatching(/MEMBERSHIP_INACTIVE/)])
  }
  await admin.resumeMembership(of, world.as("tenantAdmin"))
  const again = await signInThere()
  await pats.exchangePat({ pat })
  // Also if the membership is suspended at the same moment: the service reads it with every call.
  await server.deps.store.transaction(async (tx) => {
    const found = membership && (await tx.members.lock(membership.id as never))
    if (found) await tx.members.update({ ...found, status: "SUSPENDED" })
  })
  const me = auth.me({}, bearer(again.accessTokens.auth ?? ""))
  expect(await refusal(me)).toMatch(/PERMISSIONS_STALE/)
  const refreshed = auth.refresh({ appId, refreshToken: again.refreshToken })
  expect(await refusal(refreshed)).toMatch(/MEMBERSHIP_INACTIVE/)
})

test("a personal access token of a removed member stays invalid after they return", async () => {
  const { admin, auth, pats } = clients
  const appId = world.app.id
  const { token, principalId } = await signIn(server, clients, "back again", { app: world.app })
  const asked = { name: "laptop", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const made = await pats.createPat(asked, bearer(token))
  const { memberships } = await admin.listMemberships({ appId, principalId }, world.as("admin"))
  await admin.removeMembership({ appId, membershipId: memberships[0]?.id ?? "" }, world.as("admin"))
  const { code: invitationCode } = await admin.inviteMember({ appId }, world.as("admin"))
  const back = await auth.externalLogin({ ...(await server.login("back again")), appId, invitationCode })
  expect(back.principal?.id).toBe(principalId)
  expect(await refusal(pats.exchangePat({ pat: made.token }))).toBe("Unauthenticated PAT_INVALID")
  const query = server.store.db.selectFrom("revocation").select("kind")
  const [revoked] = await query.where("key", "=", made.pat?.id ?? "").execute()
  expect(revoked).toEqual({ kind: "CREDENTIAL" })
})

test("nobody can create a secret for a service that has more administrative scopes than they have", async () => {
  const { services } = clients
  const scopes = ["auth.service_accounts.write"]
  const all = [...world.app.scopes, ...scopes.map((key) => ({ key, audience: "auth", isDefault: false }))]
  await server.deps.store.transaction((tx) => tx.apps.putApp({ ...world.app, scopes: all }))
  const [mighty, mere] = [
    await signIn(server, clients, "mighty", { app: world.app, scopes: [...scopes, "auth.apps.write"] }),
    await signIn(server, clients, "mere of services", { app: world.app, scopes }),
  ]
  const asked = {
    name: "robot",
    authMethods: [ClientAuthMethod.CLIENT_SECRET_POST],
    allowedAudiences: ["auth"],
    scopes: ["auth.apps.write"],
  }
  const { serviceAccount } = await services.createServiceAccount(asked, bearer(mighty.token))
  const serviceAccountId = serviceAccount?.id ?? ""
  const { x = "", y = "" } = freshKey()
  for (const tried of [
    () => services.addSecret({ serviceAccountId }, bearer(mere.token)),
    () => services.rotateSecret({ serviceAccountId }, bearer(mere.token)),
    () => services.addKey({ serviceAccountId, x, y }, bearer(mere.token)),
  ]) {
    expect(await refusal(tried())).toBe("PermissionDenied SCOPE_NOT_GRANTED")
  }
  const { serviceSecret } = await services.addSecret({ serviceAccountId }, bearer(mighty.token))
  // Revoking a secret does not require the service's scopes.
  await services.revokeSecret({ serviceAccountId, secretId: serviceSecret?.id ?? "" }, bearer(mere.token))
})

const freshKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })
