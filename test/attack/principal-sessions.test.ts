// Attempts to see and to revoke sessions of other people outside of the caller's reach.
import { Code, ConnectError } from "@connectrpc/connect"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredServer, startAdministeredServer } from "../support/administered-server.ts"
import type { AdministratorName } from "../support/administration.ts"
import { bearer, clientsOver, protocols, refusal } from "../support/clients.ts"
import { sample } from "../support/effort.ts"
import { type SignedInPerson, signIn } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"

describeStory("sessions of other people", (kind) => {
  let at: AdministeredServer
  /** A member of the tenant, with a session in the app and one in the tenant. */
  let member: SignedInPerson
  beforeAll(async () => {
    at = await startAdministeredServer({ store: kind })
    member = await signIn(at.server, at.clients, "a member of the tenant", {
      app: at.world.app,
      tenantId: at.world.tenant.id,
    })
  })
  afterAll(() => at?.server.close())

  const appId = () => at.world.app.id
  const listed = async (by: AdministratorName, principalId: string = member.principalId, tenantId = "") => {
    const request = { appId: appId(), principalId, tenantId }
    const { sessions } = await at.clients.admin.listPrincipalSessions(request, at.world.as(by))
    return sessions.map((session) => session.tenantId)
  }

  test("an administrator sees the sessions where the administrator's token reaches, and no others", async () => {
    const inTenant = at.world.tenant.id
    expect(await listed("root")).toEqual([inTenant, ""])
    expect(await listed("admin")).toEqual([inTenant, ""])
    expect(await listed("admin", member.principalId, inTenant)).toEqual([inTenant])
    expect(await listed("tenantAdmin")).toEqual([inTenant])
    for (const by of ["otherTenantAdmin", "otherAdmin", "contextAdmin"] as const) {
      expect([by, await refusal(listed(by))]).toEqual([by, "PermissionDenied RESOURCE_UNRESOLVED"])
    }
  })

  test("an administrator of a tenant cannot widen the list to the app or to another tenant", async () => {
    const other = at.world.otherTenant.id
    expect(await refusal(listed("tenantAdmin", member.principalId, other))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    // Someone who is in the app but not in the tenant does not exist for the tenant's administrator.
    const elsewhere = at.world.people.otherTenantAdmin.principalId
    expect(await refusal(listed("tenantAdmin", elsewhere))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  })

  test("a page token of one administrator's list is refused in another's", async () => {
    const { admin } = at.clients
    const request = { appId: appId(), principalId: member.principalId, pageSize: 1 }
    const { nextPageToken: pageToken } = await admin.listPrincipalSessions(request, at.world.as("admin"))
    expect(pageToken).not.toBe("")
    const asked = admin.listPrincipalSessions({ ...request, pageToken }, at.world.as("tenantAdmin"))
    expect(await refusal(asked)).toBe("InvalidArgument INVALID_FIELD")
  })

  test("no session tells more than a person sees of their own", async () => {
    const { admin, sessions } = at.clients
    const request = { appId: appId(), principalId: member.principalId }
    const [shown] = (await admin.listPrincipalSessions(request, at.world.as("admin"))).sessions
    const [own] = (await sessions.listSessions({}, bearer(member.token))).sessions
    expect({ ...shown, current: true }).toEqual(own)
  })

  describe.each(sample(1, Object.keys(protocols)))("over %s", (protocol) => {
    const clients = () => clientsOver((protocols[protocol] ?? fail())(at.server.url))
    const person = async () => {
      const name = `revoked over ${protocol} ${Math.random()}`
      return signIn(at.server, at.clients, name, { app: at.world.app, tenantId: at.world.tenant.id })
    }
    const isLive = async (token: string) => {
      const thrown = await at.clients.sessions.listSessions({}, bearer(token)).then(
        () => undefined,
        (error: unknown) => ConnectError.from(error).code,
      )
      return thrown === undefined ? true : thrown === Code.Unauthenticated ? false : fail()
    }

    test("an administrator of the tenant revokes one session there, which takes effect at once", async () => {
      const { admin } = clients()
      const { token, sessionId, principalId } = await person()
      const all = await at.clients.admin.listPrincipalSessions({ appId: appId(), principalId }, at.world.as("admin"))
      const outside = all.sessions.find(({ tenantId }) => tenantId === "")?.id ?? ""
      const revoke = (id: string, by: AdministratorName) =>
        admin.revokePrincipalSession({ appId: appId(), sessionId: id }, at.world.as(by))
      expect(await refusal(revoke(outside, "tenantAdmin"))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
      expect(await refusal(revoke(sessionId, "otherTenantAdmin"))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
      expect(await isLive(token)).toBe(true)
      await revoke(sessionId, "tenantAdmin")
      expect(await isLive(token)).toBe(false)
      await revoke(sessionId, "tenantAdmin")
      const events = await at.server.store.db
        .selectFrom("audit_event")
        .select(["actor_principal_id", "subject_principal_id", "tenant_id"])
        .where("kind", "=", "session.revoked")
        .where("target_id", "=", sessionId)
        .execute()
      expect(events).toEqual([
        {
          actor_principal_id: at.world.people.tenantAdmin.principalId,
          subject_principal_id: principalId,
          tenant_id: at.world.tenant.id,
        },
      ])
    })

    test("revoking all of a person ends what the administrator reaches, and leaves the rest", async () => {
      const { admin } = clients()
      const { token, principalId } = await person()
      const revokeAll = (by: AdministratorName) =>
        admin.revokePrincipalSessions({ appId: appId(), principalId }, at.world.as(by))
      expect(await refusal(revokeAll("otherTenantAdmin"))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
      expect(await refusal(revokeAll("otherAdmin"))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
      expect((await revokeAll("tenantAdmin")).revokedSessions).toBe(1)
      expect(await isLive(token)).toBe(false)
      const left = await admin.listPrincipalSessions({ appId: appId(), principalId }, at.world.as("admin"))
      expect(left.sessions.map(({ tenantId }) => tenantId)).toEqual([""])
      expect((await revokeAll("admin")).revokedSessions).toBe(1)
      expect((await revokeAll("admin")).revokedSessions).toBe(0)
    })
  })
})

function fail(): never {
  throw new Error("unexpected")
}
