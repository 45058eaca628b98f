// The service counts audit events in buckets of time, so that a client draws them without reading them.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import {
  AuditEvent_Outcome,
  AuditEvent_OutcomeSchema,
  type CountAuditEventsResponse,
  CountAuditEventsRequest_Group as Group,
} from "@signet/proto/auth/v1/audit_service"
import { ReasonSchema } from "@signet/proto/authz/v1/reason"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { addEvents } from "../support/audit-events.ts"
import { type Clients, clientsOver, protocols } from "../support/clients.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const [minute, hour] = [60_000, 3_600_000]
/** Before any event of the server itself. */
const startMs = Date.UTC(2020, 0, 1)

describeStory("counts of audit events", (kind) => {
  let server: TestServer
  let world: AdministeredWorld
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    world = await administeredWorld(server, clientsOver(transportOf("Connect JSON over HTTP/1.1")))
    const { app, other, tenant } = world
    const { db } = server.store
    const refreshes = { appId: app.id, kind: "session.refreshed", startMs, everyMs: 1_000, count: 7_200 }
    await addEvents(db, refreshes)
    const refused = { kind: "authz.denied", outcome: "DENIED", reason: "MISSING_SCOPE", everyMs: 2 * minute } as const
    await addEvents(db, { ...refused, appId: app.id, tenantId: tenant.id, startMs, count: 60 })
    await addEvents(db, { ...refused, appId: other.id, startMs, count: 60 })
  })
  afterAll(() => server?.close())

  function transportOf(protocol: string) {
    const transport = protocols[protocol]
    if (transport === undefined) throw new Error("no protocol")
    return transport(server.url)
  }

  const time = { startTime: timestampFromMs(startMs), endTime: timestampFromMs(startMs + 3 * hour) }
  const shown = ({ counts }: CountAuditEventsResponse) =>
    counts.map((of) => [
      ((of.startTime ? timestampMs(of.startTime) : Number.NaN) - startMs) / hour,
      ...[of.kind, AuditEvent_OutcomeSchema.value[of.outcome]?.name, ReasonSchema.value[of.reason]?.name, of.count],
    ])

  const [first = "", ...others] = Object.keys(protocols)
  describe.each(kind === "pglite" ? [first, ...others] : [first])("over %s", (protocol) => {
    let audit: Clients["audit"]
    beforeAll(() => {
      ;({ audit } = clientsOver(transportOf(protocol)))
    })

    test("have a number for each hour, kind, outcome and reason", async () => {
      const groupBy = [Group.KIND, Group.OUTCOME, Group.REASON]
      const found = await audit.countAuditEvents({ ...time, bucketSeconds: 3_600, groupBy }, world.as("admin"))
      expect(shown(found)).toEqual([
        [0, "authz.denied", "DENIED", "MISSING_SCOPE", 30],
        [0, "session.refreshed", "SUCCESS", "REASON_UNSPECIFIED", 3_600],
        [1, "authz.denied", "DENIED", "MISSING_SCOPE", 30],
        [1, "session.refreshed", "SUCCESS", "REASON_UNSPECIFIED", 3_600],
      ])
      expect(found.countedStartTime).toEqual(time.startTime)
    })

    test("are filtered by kind and by outcome, and are one number without groups and width", async () => {
      const none = ["", "OUTCOME_UNSPECIFIED", "REASON_UNSPECIFIED"]
      const by = world.as("admin")
      expect(shown(await audit.countAuditEvents(time, by))).toEqual([[0, ...none, 7_260]])
      const kinds = ["session.refreshed"]
      expect(shown(await audit.countAuditEvents({ ...time, kinds }, by))).toEqual([[0, ...none, 7_200]])
      const outcome = AuditEvent_Outcome.DENIED
      expect(shown(await audit.countAuditEvents({ ...time, outcome }, by))).toEqual([[0, ...none, 60]])
      expect(shown(await audit.countAuditEvents({ ...time, kinds, outcome }, by))).toEqual([])
    })
  })

  test("are of the caller's place: a tenant, an app, or the installation", async () => {
    const { audit } = clientsOver(transportOf(first))
    const total = async (by: Parameters<AdministeredWorld["as"]>[0], appId = "") => {
      const { counts } = await audit.countAuditEvents({ ...time, appId }, world.as(by))
      return counts.map(({ count }) => count)
    }
    expect(await total("tenantAdmin")).toEqual([60])
    expect(await total("otherTenantAdmin")).toEqual([])
    expect(await total("contextAdmin")).toEqual([])
    expect(await total("otherAdmin")).toEqual([60])
    expect(await total("root")).toEqual([7_320])
    expect(await total("root", world.other.id)).toEqual([60])
  })
})
