// Events are listed for the administrators of a place: by kind, outcome, principal, target and time, page by page.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { type AuditEvent, AuditEvent_Outcome } from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("audit events", (kind) => {
  let server: TestServer
  let world: AdministeredWorld
  let roleId: string
  let grantId: string
  let startedMs: number
  let endedMs: number
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    const { admin } = clientsOver(transportOf("Connect JSON over HTTP/1.1"))
    world = await administeredWorld(server, clientsOver(transportOf("Connect JSON over HTTP/1.1")))
    server.advance(1_000)
    startedMs = server.deps.clock.nowMs()
    const by = world.as("admin")
    const appId = world.app.id
    await admin.createPermission({ appId, permission: { key: "garden.roses.prune" } }, by)
    const role = { key: "gardener", permissions: ["garden.roses.prune"] }
    roleId = (await admin.createRole({ appId, role }, by)).role?.id ?? ""
    const grant = { appId, roleId, principalId: world.people.tenantAdmin.principalId, tenantId: world.tenant.id }
    grantId = (await admin.createGrant(grant, by)).grant?.id ?? ""
    const foreign = admin.getTenant({ appId, tenantId: world.otherTenant.id }, world.as("tenantAdmin"))
    expect(await refusal(foreign)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    server.advance(1_000)
    endedMs = server.deps.clock.nowMs()
    await admin.revokeGrant({ appId, grantId }, by)
  })
  afterAll(() => server?.close())

  function transportOf(protocol: string) {
    const transport = protocols[protocol]
    if (transport === undefined) throw new Error("no protocol")
    return transport(server.url)
  }

  // All protocols on one store, and one protocol on each store.
  const [first = "", ...others] = Object.keys(protocols)
  describe.each(kind === "pglite" ? [first, ...others] : [first])("over %s", (protocol) => {
    let audit: Clients["audit"]
    beforeAll(() => {
      ;({ audit } = clientsOver(transportOf(protocol)))
    })
    const meanwhile = () => ({ startTime: timestampFromMs(startedMs), endTime: timestampFromMs(endedMs) })
    const kinds = (events: readonly AuditEvent[]) => events.map((event) => event.kind)

    test("contain actor, action, target, place and outcome", async () => {
      const { auditEvents } = await audit.listAuditEvents({ ...meanwhile(), targetId: grantId }, world.as("admin"))
      expect(auditEvents).toHaveLength(1)
      expect(auditEvents[0]).toMatchObject({
        kind: "grant.created",
        outcome: AuditEvent_Outcome.SUCCESS,
        reason: Reason.REASON_UNSPECIFIED,
        appId: world.app.id,
        tenantId: world.tenant.id,
        contextId: "",
        actorPrincipalId: world.people.admin.principalId,
        subjectPrincipalId: world.people.tenantAdmin.principalId,
        target: { type: "grant", id: grantId },
        request: { route: "signet.auth.v1.AppAuthService/CreateGrant", ipTruncated: "127.0.0.0/24" },
      })
      const { occurredAt } = auditEvents[0] ?? {}
      expect(occurredAt && timestampMs(occurredAt)).toBeGreaterThanOrEqual(startedMs)
    })

    test("are listed newest first, and within the requested time", async () => {
      const done = { kinds: ["permission.created", "role.created", "grant.created", "grant.revoked"] }
      const by = world.as("admin")
      expect(kinds((await audit.listAuditEvents(done, by)).auditEvents)).toEqual(done.kinds.toReversed())
      expect(kinds((await audit.listAuditEvents({ ...done, ...meanwhile() }, by)).auditEvents)).toEqual(
        done.kinds.slice(0, 3).toReversed(),
      )
      const since = { ...done, startTime: timestampFromMs(endedMs) }
      expect(kinds((await audit.listAuditEvents(since, by)).auditEvents)).toEqual(["grant.revoked"])
    })

    test("are filtered by outcome, principal and type of target", async () => {
      const by = world.as("admin")
      const denied = { ...meanwhile(), outcome: AuditEvent_Outcome.DENIED }
      const { auditEvents } = await audit.listAuditEvents(denied, by)
      const { principalId } = world.people.tenantAdmin
      expect(auditEvents.map(({ kind, reason, actorPrincipalId }) => ({ kind, reason, actorPrincipalId }))).toEqual([
        { kind: "authz.denied", reason: Reason.TENANT_MISMATCH, actorPrincipalId: principalId },
      ])
      const ofPrincipal = await audit.listAuditEvents({ ...meanwhile(), principalId }, by)
      expect(kinds(ofPrincipal.auditEvents).toSorted()).toEqual(["authz.denied", "grant.created"])
      const roles = await audit.listAuditEvents({ ...meanwhile(), targetType: "role" }, by)
      expect(roles.auditEvents.map(({ target }) => target?.id)).toEqual([roleId])
    })

    test("are listed in pages without duplicates", async () => {
      const by = world.as("admin")
      const all = (await audit.listAuditEvents({ pageSize: 200, endTime: timestampFromMs(endedMs) }, by)).auditEvents
      expect(all.length).toBeGreaterThan(6)
      const found: AuditEvent[] = []
      for (let pageToken = "", isLast = false; !isLast; isLast = pageToken === "") {
        const asked = { pageSize: 4, pageToken, endTime: timestampFromMs(endedMs) }
        const page = await audit.listAuditEvents(asked, by)
        found.push(...page.auditEvents)
        pageToken = page.nextPageToken
      }
      expect(found).toEqual(all)
    })

    test("of all apps, and without an app, are listed for the installation's administrators", async () => {
      const { auditEvents } = await audit.listAuditEvents({ pageSize: 200 }, world.as("root"))
      const apps = new Set(auditEvents.map(({ appId }) => appId))
      for (const { id } of [world.installation, world.app, world.other]) expect(apps).toContain(id)
      const one = await audit.listAuditEvents({ pageSize: 200, appId: world.other.id }, world.as("root"))
      expect(new Set(one.auditEvents.map(({ appId }) => appId))).toEqual(new Set([world.other.id]))
    })
  })
})
