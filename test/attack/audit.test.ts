// Attempts by the administrators of one place to read audit events of another.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { newId } from "@signet/kernel/ids"
import {
  type AuditEvent,
  type CountAuditEventsRequestSchema,
  CountAuditEventsRequest_Group as Group,
  type ListAuditEventsRequestSchema,
} from "@signet/proto/auth/v1/audit_service"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { Reason } from "@signet/proto/authz/v1/reason"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { linkPending } from "../../server/store/postgres/audit/audit-chain.ts"
import { type AdministeredWorld, type AdministratorName, administeredWorld } from "../support/administration.ts"
import { testSeals } from "../support/audit-log-deps.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { signIn } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  clients = clientsOver(connect(server.url))
  world = await administeredWorld(server, clients)
  const { app, other, tenant, otherTenant, context, otherContext, people } = world
  const nowMs = server.deps.clock.nowMs()
  // One event at every place, and one at no place.
  const places = [
    { appId: null, tenantId: null, contextId: null },
    { appId: other.id, tenantId: null, contextId: null },
    { appId: app.id, tenantId: null, contextId: null },
    ...[tenant, otherTenant].map(({ id }) => ({ appId: app.id, tenantId: id, contextId: null })),
    ...[context, otherContext].map(({ id, tenantId }) => ({ appId: app.id, tenantId, contextId: id })),
  ]
  await server.deps.store.transaction(async (tx) => {
    for (const place of places) {
      for (const { principalId } of Object.values(people)) {
        await tx.audit.append({
          ...place,
          id: newId("aud", nowMs, server.deps.random.bytes(10)),
          occurredAtMs: nowMs,
          kind: "grant.created",
          outcome: "SUCCESS",
          reason: null,
          actorPrincipalId: principalId,
          subjectPrincipalId: principalId,
          subjectIdentityId: null,
          sessionId: null,
          target: { type: "grant", id: "shared" },
          request: { id: "", route: "", ipTruncated: null },
        })
      }
    }
  })
})
afterAll(() => server?.close())

type Asked = MessageInitShape<typeof ListAuditEventsRequestSchema>
const list = (by: AdministratorName, asked: Asked = {}) =>
  clients.audit.listAuditEvents({ pageSize: 200, ...asked }, world.as(by))
/** Of the hour before and the hour after now. */
const count = (by: AdministratorName, asked: MessageInitShape<typeof CountAuditEventsRequestSchema> = {}) => {
  const nowMs = server.deps.clock.nowMs()
  const time = { startTime: timestampFromMs(nowMs - 3_600_000), endTime: timestampFromMs(nowMs + 3_600_000) }
  return clients.audit.countAuditEvents({ ...time, ...asked }, world.as(by))
}
const placeOf = ({ appId, tenantId, contextId }: AuditEvent) => `${appId} ${tenantId} ${contextId}`
const placesSeen = async (by: AdministratorName, asked: Asked = {}) =>
  new Set((await list(by, asked)).auditEvents.map(placeOf))

describe("events of a place that the caller does not administer never appear", () => {
  const reach: [AdministratorName, () => string[]][] = [
    ["otherAdmin", () => [`${world.other.id}  `]],
    ["tenantAdmin", () => ["", world.context.id].map((id) => `${world.app.id} ${world.tenant.id} ${id}`)],
    [
      "otherTenantAdmin",
      () => ["", world.otherContext.id].map((id) => `${world.app.id} ${world.otherTenant.id} ${id}`),
    ],
    ["contextAdmin", () => [`${world.app.id} ${world.tenant.id} ${world.context.id}`]],
  ]
  test.each(reach)("to %s, with any filter", async (by, expected) => {
    const filters: (Asked | undefined)[] = [
      {},
      { kinds: ["grant.created"] },
      { targetType: "grant", targetId: "shared" },
      { outcome: 1 },
      ...Object.values(world.people).map(({ principalId }) => ({ principalId, kinds: ["grant.created"] })),
    ]
    for (const filter of filters) expect(await placesSeen(by, filter)).toEqual(new Set(expected()))
    const own = { appId: by === "otherAdmin" ? world.other.id : world.app.id }
    expect(await placesSeen(by, own)).toEqual(new Set(expected()))
  })

  test.each(reach)("to %s, in a count", async (by, expected) => {
    const { app, other, people, tenant, context } = world
    const own = { appId: by === "otherAdmin" ? other.id : app.id }
    const inContext = { ...own, tenantId: tenant.id, contextId: context.id }
    const granted = { kinds: ["grant.created"], groupBy: [Group.KIND, Group.REASON] }
    for (const place of [{}, own, ...(by === "tenantAdmin" || by === "contextAdmin" ? [inContext] : [])]) {
      const places = place === inContext ? 1 : expected().length
      const { counts } = await count(by, { ...place, ...granted })
      expect(counts).toMatchObject([{ kind: "grant.created", count: places * Object.keys(people).length }])
      const { auditEvents } = await list(by, place)
      const { counts: all } = await count(by, { ...place, bucketSeconds: 60 })
      expect(all.reduce((sum, each) => sum + each.count, 0)).toBe(auditEvents.length)
    }
  })

  test.each(reach)("to %s, by the id of the event", async (by, expected) => {
    const { auditEvents } = await list("root", { kinds: ["grant.created"], pageSize: 200 })
    const found: string[] = []
    for (const { id } of auditEvents) {
      const { auditEvents: named } = await list(by, { targetId: id })
      expect([[], [id]]).toContainEqual(named.map((event) => event.id))
      found.push(...named.map(placeOf))
    }
    expect(new Set(found)).toEqual(new Set(expected()))
    expect(found.length).toBeLessThan(auditEvents.length)
  })

  test("to an app's administrator: events of other apps, and of no app", async () => {
    const seen = await placesSeen("admin")
    expect(new Set([...seen].map((place) => place.split(" ")[0]))).toEqual(new Set([world.app.id]))
    expect(seen.size).toBe(5)
    expect(await placesSeen("root")).toContain("  ")
  })
})

test("a place out of the caller's scope and one that does not exist get the same answer", async () => {
  const missing = <K extends "app" | "ten" | "ctx">(kind: K) => newId(kind, Date.now(), server.deps.random.bytes(10))
  const { app, other, otherTenant, otherContext } = world
  const asked: [AdministratorName, Asked][] = [
    ["admin", { appId: other.id }],
    ["admin", { appId: missing("app") }],
    ["otherAdmin", { appId: app.id, tenantId: otherTenant.id }],
    ["otherAdmin", { tenantId: otherTenant.id }],
    ["tenantAdmin", { tenantId: otherTenant.id }],
    ["tenantAdmin", { tenantId: missing("ten") }],
    ["tenantAdmin", { contextId: otherContext.id }],
    ["contextAdmin", { contextId: otherContext.id }],
    ["contextAdmin", { contextId: missing("ctx") }],
    ["root", { appId: other.id, tenantId: otherTenant.id }],
  ]
  for (const [by, request] of asked) {
    expect([by, request, await refusal(list(by, request))]).toEqual([
      by,
      request,
      "PermissionDenied RESOURCE_UNRESOLVED",
    ])
    const { appId = "", tenantId = "", contextId = "" } = request
    expect(await refusal(count(by, { appId, tenantId, contextId }))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  }
})

test("a page token is valid only for its own place and filter", async () => {
  const first = { pageSize: 1 }
  const { nextPageToken: pageToken } = await list("admin", first)
  expect(pageToken).not.toBe("")
  const { nextPageToken: ofTenant } = await list("otherTenantAdmin", first)
  const { nextPageToken: ofEverything } = await list("root", first)
  const wrong: [AdministratorName, Asked][] = [
    ["otherAdmin", { pageToken }],
    ["tenantAdmin", { pageToken }],
    ["tenantAdmin", { pageToken: ofTenant }],
    ["admin", { pageToken: ofEverything }],
    ["root", { pageToken }],
    ["admin", { pageToken, kinds: ["grant.created"] }],
    ["admin", { pageToken, outcome: 1 }],
    ["admin", { pageToken, principalId: world.people.admin.principalId }],
    ["admin", { pageToken, targetId: "shared" }],
    ["admin", { pageToken, targetType: "shared" }],
    ["admin", { pageToken, tenantId: world.tenant.id }],
    ["admin", { pageToken: `${pageToken.slice(0, -1)}${pageToken.endsWith("A") ? "B" : "A"}` }],
  ]
  for (const [by, request] of wrong) {
    expect([by, request, await refusal(list(by, request))]).toEqual([by, request, "InvalidArgument INVALID_FIELD"])
  }
  // The request may name the place or leave it to the page token: both read the same list.
  await list("admin", { pageToken, appId: world.app.id })
})

test("a caller without auth.audit.read reads nothing, even with all other administrative scopes", async () => {
  const scopes = ["auth.apps.read", "auth.apps.write", "auth.members.read", "auth.principals.read"]
  const { token } = await signIn(server, clients, "administers all but this", { app: world.app, scopes })
  expect(await refusal(clients.audit.listAuditEvents({}, bearer(token)))).toBe("PermissionDenied MISSING_SCOPE")
  const time = { startTime: timestampFromMs(0), endTime: timestampFromMs(1) }
  expect(await refusal(clients.audit.countAuditEvents(time, bearer(token)))).toBe("PermissionDenied MISSING_SCOPE")
})

describe("the facts of a denial", () => {
  /** Calls ListApps with a token that lacks its scope. @returns The event of the denial. */
  async function denied(of: object) {
    const { token, principalId } = await signIn(server, clients, `denied ${Math.random()}`, { app: world.app, ...of })
    expect(await refusal(clients.admin.listApps({}, bearer(token)))).toBe("PermissionDenied MISSING_SCOPE")
    const asked = { kinds: ["authz.denied"], principalId }
    await expect.poll(async () => (await list("admin", asked)).auditEvents.length).toBe(1)
    return { asked, token, principalId, event: (await list("admin", asked)).auditEvents[0] }
  }

  test("appear to administrators of its place only, and not to the denied caller", async () => {
    const { asked, token, event } = await denied({ tenantId: world.tenant.id })
    expect(event?.denial).toMatchObject({
      ...{ requirement: "scope(auth.apps.read)", missing: "auth.apps.read" },
      ...{ callerKind: PrincipalKind.USER, audience: "auth" },
    })
    for (const by of ["root", "tenantAdmin"] as const) {
      expect([by, (await list(by, asked)).auditEvents[0]?.denial]).toEqual([by, event?.denial])
    }
    for (const by of ["otherAdmin", "otherTenantAdmin", "contextAdmin"] as const) {
      expect([by, (await list(by, asked)).auditEvents]).toEqual([by, []])
      expect([by, (await list(by, { targetId: event?.id ?? "" })).auditEvents]).toEqual([by, []])
    }
    expect(await refusal(clients.audit.listAuditEvents(asked, bearer(token)))).toBe("PermissionDenied MISSING_SCOPE")
    await linkPending(server.store.db, testSeals, server.deps.clock.nowMs)
    const { links } = await clients.audit.listAuditLinks({ pageSize: 500 }, world.as("tenantAdmin"))
    expect(links.some(({ eventText }) => eventText.includes(event?.id ?? "-"))).toBe(true)
    for (const { eventText } of links) expect(eventText).not.toContain("auth.apps.read")
  })

  test("stay as of the denial when the caller gets the scope", async () => {
    const { asked, event, principalId } = await denied({})
    expect(event?.denial?.missing).toBe("auth.apps.read")
    await server.store.db
      .updateTable("membership")
      .set({ scopes: ["auth.apps.read"] })
      .where("principal_id", "=", principalId)
      .execute()
    expect((await list("admin", asked)).auditEvents).toEqual([event])
  })

  test("name the audience of a token for another service, and no object of another place", async () => {
    const { tokens, principalId } = await signIn(server, clients, "elsewhere", {
      ...{ app: world.app, tenantId: world.tenant.id, audiences: ["auth", "svc-notes"] },
      scopes: ["auth.tenants.read"],
    })
    const asked = { kinds: ["authz.denied"], principalId }
    const elsewhere = clients.auth.me({}, bearer(tokens["svc-notes"] ?? ""))
    expect(await refusal(elsewhere)).toBe("Unauthenticated AUDIENCE_MISMATCH")
    await expect.poll(async () => (await list("tenantAdmin", asked)).auditEvents.length).toBe(1)
    const tenantId = world.otherTenant.id
    const foreign = clients.admin.getTenant({ appId: world.app.id, tenantId }, bearer(tokens.auth ?? ""))
    expect(await refusal(foreign)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    const joined = clients.account.requestMembership(
      { tenantId: newId("ten", 0, new Uint8Array(10)) },
      bearer(tokens.auth ?? ""),
    )
    expect(await refusal(joined)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    const introspected = clients.tokens.introspect({ token: "x" }, bearer(tokens["svc-notes"] ?? ""))
    expect(await refusal(introspected)).toBe("Unauthenticated AUDIENCE_MISMATCH")
    await expect.poll(async () => (await list("tenantAdmin", asked)).auditEvents.length).toBe(4)
    const { auditEvents } = await list("tenantAdmin", asked)
    const denials = auditEvents.map(({ denial }) => denial)
    expect(denials.map((denial) => [denial?.audience, denial?.requirement, denial?.missing]).toSorted()).toEqual([
      ["auth", "kinds(USER)", ""],
      ["auth", "scope(auth.tenants.read)", ""],
      ["svc-notes", "credential in the body", ""],
      ["svc-notes", "kinds(USER)", ""],
    ])
    const texts = denials.flatMap((denial) => [denial?.audience, denial?.requirement, denial?.missing])
    expect(texts.join(" ")).not.toContain(tenantId)
  })

  test("are absent for a token that does not verify", async () => {
    const { token } = await signIn(server, clients, "forged", { app: world.app })
    const asked = { kinds: ["authz.denied"] }
    const before = (await list("root", asked)).auditEvents.length
    const forged = `${token.slice(0, -6)}AAAAAA`
    expect(await refusal(clients.auth.me({}, bearer(forged)))).toBe("Unauthenticated SIGNATURE_INVALID")
    await expect.poll(async () => (await list("root", asked)).auditEvents.length).toBe(before + 1)
    const { auditEvents } = await list("root", asked)
    const [event] = auditEvents.filter(({ reason }) => reason === Reason.SIGNATURE_INVALID)
    expect(event).toMatchObject({ actorPrincipalId: "" })
    expect(event?.denial).toBeUndefined()
  })
})

const hour = "startTime=2026-01-01T00:00:00Z&endTime=2026-01-01T01:00:00Z"

describe("an invalid request is refused before the store is queried", () => {
  test.each([
    "startTime=yesterday",
    "startTime=0000-00-00T00:00:00Z",
    "endTime=99999-01-01T00:00:00Z",
    "kinds=grant.created'--",
    "kinds=grant.created&kinds=grant.created",
    `${Array.from({ length: 21 }, (_, i) => `kinds=kind.${"abcdefghijklmnopqrstuvw"[i]}`).join("&")}`,
    "outcome=4",
    "pageSize=201",
    "principalId=everybody",
    `targetId=${"a".repeat(257)}`,
  ])("%s", async (query) => {
    const answer = await fetch(`${server.url}/auth/audit-events?${query}`, world.as("admin"))
    expect([answer.status, (await answer.json()).reason]).toEqual([400, "INVALID_FIELD"])
  })

  test.each([
    ["", "start_time", "value is required"],
    ["startTime=1970-01-01T00:00:00Z", "end_time", "value is required"],
    ["startTime=1970-01-01T00:00:01Z&endTime=1970-01-01T00:00:01Z", "end_time", "must be after start_time"],
    ["startTime=1970-01-01T00:00:00Z&endTime=1970-01-01T00:16:41Z&bucketSeconds=1", "bucket_seconds", "1001 buckets"],
    [`${hour}&bucketSeconds=31622401`, "bucket_seconds", "less than or equal to 31622400"],
    [`${hour}&kinds=login`, "kinds[0]", "does not match regex pattern"],
    [`${hour}&groupBy=GROUP_UNSPECIFIED`, "group_by[0]", "must not be in list [0]"],
    [`${hour}&groupBy=KIND&groupBy=KIND`, "group_by", "unique items"],
    [`${hour}&tenantId=everywhere`, "tenant_id", "does not match regex pattern"],
  ])("counts of %s: names %s and its rule", async (query, field, rule) => {
    const answer = await fetch(`${server.url}/auth/audit-event-counts?${query}`, world.as("admin"))
    const text = await answer.text()
    expect([answer.status, JSON.parse(text).reason]).toEqual([400, "INVALID_FIELD"])
    expect(text).toContain(field)
    expect(text).toContain(rule)
  })
})
