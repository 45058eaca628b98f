import { describe, expect, test } from "vitest"
import { type AppId, idOf, type TenantId } from "../ids.ts"
import { type Backend, eventProblem, mayProve, oldestEventMs, serves } from "./backend.ts"

const bytes = (fill: number) => new Uint8Array(16).fill(fill)
const appId = idOf("app", bytes(1))
const otherApp = idOf("app", bytes(2))
const tenantId = idOf("ten", bytes(3))
const otherTenant = idOf("ten", bytes(4))
const backend = (change: Partial<Backend> = {}): Backend => ({
  appId,
  tenantId: null,
  isInstallation: false,
  ...change,
})

test.each<[string, Partial<Backend>, AppId, TenantId | null, boolean]>([
  ["an app's backend serves the app", {}, appId, null, true],
  ["and its tenants", {}, appId, tenantId, true],
  ["but no other app", {}, otherApp, null, false],
  ["a tenant's serves that tenant", { tenantId }, appId, tenantId, true],
  ["but not its app", { tenantId }, appId, null, false],
  ["nor another tenant", { tenantId }, appId, otherTenant, false],
  ["the installation's serves all", { isInstallation: true }, otherApp, otherTenant, true],
  ["but for a tenant of it", { isInstallation: true, tenantId }, otherApp, tenantId, false],
])("%s", (_, change, app, tenant, expected) => {
  expect(serves(backend(change), { appId: app, tenantId: tenant })).toBe(expected)
})

test("a proof without a requester is a directive's, and one that adds members has a requester", () => {
  const ops = ["CREATE", "ADD", "REMOVE", "LEAVE", "REJOIN"] as const
  const allowed = ops.flatMap((op) =>
    [true, false].flatMap((hasRequester) =>
      [0, 1, 2]
        .filter((added) => mayProve(op, hasRequester, added))
        .map((added) => [op, hasRequester, added].join(" ")),
    ),
  )
  expect(allowed).toEqual([
    "CREATE true 0",
    "CREATE true 1",
    "CREATE true 2",
    "ADD true 0",
    "ADD true 1",
    "ADD true 2",
    "REMOVE true 0",
    "REMOVE false 0",
    "LEAVE false 0",
    "REJOIN false 0",
    "REJOIN false 1",
  ])
})

describe("an event of a backend", () => {
  const nowMs = 2_000_000_000_000
  const event = {
    kind: "device.bound",
    route: "signet.messaging.v1.X/Y",
    appId,
    tenantId: null,
    occurredAtMs: nowMs,
  } as const
  test.each<[string, Parameters<typeof eventProblem>[1], ReturnType<typeof eventProblem>]>([
    ["of its own is taken", event, undefined],
    ["of no call is taken", { ...event, route: "" }, undefined],
    ["of no place is taken", { ...event, appId: null }, undefined],
    ["of a tenant without its app is not", { ...event, appId: null, tenantId }, "app_id"],
    ["of another app is not", { ...event, appId: otherApp }, "app_id"],
    ["of another area is not", { ...event, kind: "session.revoked" }, "kind"],
    ["of another service's call is not", { ...event, route: "signet.auth.v1.X/Y" }, "route"],
    ["that denies nothing that was called is not", { ...event, kind: "authz.denied", route: "" }, "route"],
    ["is taken for 31 days", { ...event, occurredAtMs: nowMs - oldestEventMs }, undefined],
    ["and not for longer", { ...event, occurredAtMs: nowMs - oldestEventMs - 1 }, "occurred_at"],
    ["nor from the future", { ...event, occurredAtMs: nowMs + 120_001 }, "occurred_at"],
    ["nor without a time", { ...event, occurredAtMs: Number.NaN }, "occurred_at"],
  ])("%s", (_, said, expected) => {
    expect(eventProblem(backend(), said, nowMs)).toBe(expected)
  })
})
