// The life of an app, from the installation's administrators to a member who leaves, over each protocol.
import type { AppId, TenantId } from "@signet/kernel/ids"
import { PlaceStatus } from "@signet/proto/auth/v1/apps"
import { Grant_Status } from "@signet/proto/auth/v1/grants"
import { Invitation_Status } from "@signet/proto/auth/v1/memberships"
import { ProviderClient_NonceMode, ProviderClient_Status } from "@signet/proto/auth/v1/provider_clients"
import { Membership_Status, Platform, Provider } from "@signet/proto/auth/v1/records"
import { GrantLevel, Role_Status } from "@signet/proto/auth/v1/roles"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { signIn } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("an app", (kind) => {
  let server: TestServer
  let world: AdministeredWorld
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    world = await administeredWorld(server, clientsOver(transportOf("Connect JSON over HTTP/1.1", server)))
  })
  afterAll(() => server?.close())
  const reasonOf = async (call: Promise<unknown>) => (await refusal(call)).split(" ").at(-1)

  // All protocols on one store, and one protocol on each store.
  const [first = "", ...others] = Object.keys(protocols)
  describe.each(kind === "pglite" ? [first, ...others] : [first])("over %s", (protocol) => {
    let clients: Clients
    beforeAll(() => {
      clients = clientsOver(transportOf(protocol, server))
    })

    test("is created, gets members and roles, is suspended, resumed and archived", async () => {
      const { admin } = clients
      const root = world.as("root")
      const app = must((await admin.createApp({ app: newApp }, root)).app)
      expect(app).toMatchObject({ name: "Garden", status: PlaceStatus.ACTIVE, audiences: ["svc-garden"] })
      expect(app.settings).toMatchObject({
        signupEnabled: true,
        sessionIdleSecondsWeb: 1_209_600,
        sessionIdleSecondsNative: 2_592_000,
        sessionAbsoluteSeconds: 7_776_000,
        retryWindowSeconds: 600,
      })
      const appId = app.id
      expect((await admin.getApp({ appId }, root)).app).toEqual(app)
      expect((await admin.listApps({ pageSize: 1 }, root)).apps).toEqual([app])

      const client = must(
        (await admin.createProviderClient({ appId, providerClient: clientOf(server) }, root)).providerClient,
      )
      expect(client).toMatchObject({
        status: ProviderClient_Status.ACTIVE,
        canonicalIssuer: server.idp.issuer,
        audiences: [server.client.clientId],
        authorizedParties: [server.client.clientId],
        nonceMode: ProviderClient_NonceMode.RAW,
        hasClientSecret: true,
        clientSecret: "",
      })
      const ofClient = { appId, providerClientId: client.id }
      const opened = { providerClient: { redirectUris: ["https://garden.example/cb"] } }
      const changed = await admin.updateProviderClient({ ...ofClient, ...opened }, root)
      expect(changed.providerClient).toMatchObject({
        redirectUris: ["https://garden.example/cb"],
        hasClientSecret: true,
      })

      const tenant = must((await admin.createTenant({ appId, tenant: { name: "Kew" } }, root)).tenant)
      const place = { appId, tenantId: tenant.id }
      const context = { tenantId: tenant.id, type: "bed", name: "Roses" }
      const roses = must((await admin.createContext({ appId, context }, root)).context)
      expect(roses).toMatchObject({ ...context, appId, status: PlaceStatus.ACTIVE })
      const renamed = { appId, contextId: roses.id, context: { name: "Old roses" } }
      expect((await admin.updateContext(renamed, root)).context?.name).toBe("Old roses")

      // Ada is invited; the code is shown once.
      const invited = await admin.inviteMember({ ...place, scopes: ["garden.weed"], expiresInHours: 1 }, root)
      expect(invited.code).toMatch(/^sginv_[0-9A-Za-z]{50}$/)
      expect(invited.invitation).toMatchObject({ ...place, scopes: ["garden.weed"], status: Invitation_Status.PENDING })
      const listed = await admin.listInvitations({ appId }, root)
      expect(listed.invitations).toEqual([invited.invitation])
      const ada = { ...(await server.login(`ada ${Math.random()}`)), appId, tenantId: tenant.id, audiences: ["auth"] }
      const joined = await clients.auth.externalLogin({ ...ada, invitationCode: invited.code })
      expect(joined.membership).toMatchObject({ ...place, scopes: ["garden.weed"], status: Membership_Status.ACTIVE })
      const [taken] = (await admin.listInvitations({ appId }, root)).invitations
      expect(taken).toMatchObject({ status: Invitation_Status.ACCEPTED, membershipId: joined.membership?.id })

      // An invitation that was sent by mistake is revoked.
      const mistake = await admin.inviteMember({ appId }, root)
      const revoke = { appId, invitationId: mistake.invitation?.id ?? "" }
      for (const _ of [1, 2]) {
        const { invitation } = await admin.revokeInvitation(revoke, root)
        expect(invitation?.status).toBe(Invitation_Status.REVOKED)
      }

      // Grace signs in herself, is added to the tenant, and gets a role there.
      const subject = `grace ${Math.random()}`
      const garden = { app: { ...world.app, id: appId as AppId } }
      const { principalId } = await signIn(server, clients, subject, garden)
      const own = must((await admin.listMemberships({ appId, principalId }, root)).memberships[0])
      expect(own.status).toBe(Membership_Status.ACTIVE)
      const { membership } = await admin.createMembership({ ...place, principalId }, root)
      expect(membership).toMatchObject({ ...place, principalId, status: Membership_Status.ACTIVE })
      expect(await reasonOf(admin.createMembership({ ...place, principalId }, root))).toBe("ALREADY_EXISTS")
      const inTenant = { appId, membershipId: membership?.id ?? "" }
      const profile = { membership: { profile: { name: "Grace" }, scopes: ["garden.weed"] } }
      const { membership: known } = await admin.updateMembership({ ...inTenant, ...profile }, root)
      expect(known).toMatchObject(profile.membership)

      const permission = { key: "garden.roses.prune", description: "Cuts." }
      await admin.createPermission({ appId, permission }, root)
      const role = { key: "gardener", permissions: [permission.key], assignableAt: [GrantLevel.TENANT] }
      const gardener = must((await admin.createRole({ appId, role }, root)).role)
      expect(gardener).toMatchObject({ ...role, status: Role_Status.ACTIVE })
      const grantOf = { appId, principalId, roleId: gardener.id }
      expect(await reasonOf(admin.createGrant(grantOf, root))).toBe("INVALID_FIELD")
      const grant = must((await admin.createGrant({ ...grantOf, ...place, reason: "spring" }, root)).grant)
      expect(grant).toMatchObject({ ...grantOf, ...place, status: Grant_Status.ACTIVE, reason: "spring" })
      expect((await admin.listGrants({ appId, principalId }, root)).grants).toEqual([grant])
      const named = { appId, permissionKey: permission.key }
      expect(await reasonOf(admin.deletePermission(named, root))).toBe("IN_USE")
      await admin.archiveRole({ appId, roleId: gardener.id }, root)
      const ended = await admin.getGrant({ appId, grantId: grant.id }, root)
      expect(ended.grant?.status).toBe(Grant_Status.REVOKED)
      await admin.deletePermission(named, root)
      expect((await admin.listPermissions({ appId }, root)).permissions).toEqual([])

      // A suspension ends the sessions in the suspended place.
      const there = { ...garden, tenantId: tenant.id as TenantId }
      const signInAgain = async () => (await signIn(server, clients, subject, there)).token
      const suspended = await signInAgain()
      await admin.suspendTenant({ appId, tenantId: tenant.id }, root)
      expect(await reasonOf(clients.auth.me({}, bearer(suspended)))).toMatch(/SESSION_REVOKED|TENANT_SUSPENDED/)
      await admin.resumeTenant({ appId, tenantId: tenant.id }, root)
      const resumed = await signInAgain()
      await clients.auth.me({}, bearer(resumed))
      await admin.suspendMembership(inTenant, root)
      expect(await reasonOf(clients.auth.me({}, bearer(resumed)))).toMatch(/SESSION_REVOKED|MEMBERSHIP_INACTIVE/)
      await admin.resumeMembership(inTenant, root)
      // She leaves the whole app, and so the tenant.
      await admin.removeMembership({ appId, membershipId: own.id }, root)
      expect((await admin.getMembership(inTenant, root)).membership?.status).toBe(Membership_Status.REMOVED)

      await admin.disableProviderClient(ofClient, root)
      expect((await admin.enableProviderClient(ofClient, root)).providerClient?.status).toBe(
        ProviderClient_Status.ACTIVE,
      )
      await admin.suspendApp({ appId }, root)
      expect((await admin.resumeApp({ appId }, root)).app?.status).toBe(PlaceStatus.ACTIVE)
      await admin.archiveTenant({ appId, tenantId: tenant.id }, root)
      expect((await admin.archiveApp({ appId }, root)).app?.status).toBe(PlaceStatus.ARCHIVED)
      expect(await reasonOf(admin.resumeApp({ appId }, root))).toBe("STATE_CONFLICT")
      expect(await reasonOf(admin.createTenant({ appId, tenant: { name: "Late" } }, root))).toBe("STATE_CONFLICT")
    })

    test("is changed by the fields of a mask, or by the set fields without a mask", async () => {
      const { admin } = clients
      const root = world.as("root")
      const app = must((await admin.createApp({ app: newApp }, root)).app)
      const change = async (values: object, paths?: string[]) =>
        must(
          (await admin.updateApp({ appId: app.id, app: values, ...(paths ? { updateMask: { paths } } : {}) }, root))
            .app,
        )
      expect(await change({ name: "Park" })).toMatchObject({ name: "Park", audiences: app.audiences })
      const one = await change({ settings: { sessionAbsoluteSeconds: 3_600 } })
      expect(one.settings).toEqual({ ...app.settings, sessionAbsoluteSeconds: 3_600 })
      // In the mask and not set: cleared. Set and not in the mask: unchanged.
      const two = await change({ name: "Wood" }, ["settings.signup_enabled", "settings.session_absolute_seconds"])
      expect(two.settings).toEqual({ ...app.settings, signupEnabled: false })
      expect(two.name).toBe("Park")
      expect((await change({ settings: { retryWindowSeconds: 0 } })).settings?.retryWindowSeconds).toBe(0)
    })

    test("is listed with others, page by page", async () => {
      const { admin } = clients
      const [by, appId] = [world.as("admin"), world.app.id]
      for (const name of ["a", "b", "c"]) await admin.createTenant({ appId, tenant: { name } }, by)
      const names: string[] = []
      let pageToken = ""
      do {
        const page = await admin.listTenants({ appId, pageSize: 2, pageToken }, by)
        names.push(...page.tenants.map(({ name }) => name))
        pageToken = page.nextPageToken
      } while (pageToken !== "" && names.length < 4)
      expect(names.slice(0, 3).toSorted()).toEqual(["a", "b", "c"])
    })
  })
})

const newApp = {
  name: "Garden",
  audiences: ["svc-garden"],
  scopes: [
    { key: "garden.look", audience: "svc-garden", isDefault: true },
    { key: "garden.weed", audience: "svc-garden", isDefault: false },
  ],
  settings: { signupEnabled: true, allowedOrigins: ["https://garden.example"] },
}

const clientOf = ({ idp, client }: TestServer) => ({
  provider: Provider.IDP_A,
  platform: Platform.WEB,
  clientId: client.clientId,
  issuers: [idp.issuer],
  jwksUri: idp.jwksUri,
  tokenEndpoint: idp.tokenEndpoint,
  clientSecret: "web-secret",
  requireNonce: true,
  signupEnabled: true,
})

const transportOf = (protocol: string, { url }: TestServer) => {
  const connect = protocols[protocol]
  if (connect === undefined) throw new Error(protocol)
  return connect(url)
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("nothing came back")
  return value
}
