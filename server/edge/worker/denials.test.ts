import { createContextValues } from "@connectrpc/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { user } from "@signet/kernel/authz/testing"
import { budgetWindowMs } from "@signet/kernel/limits/audit-budget"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import { kCall } from "../../serving/call/call.ts"
import { auditDenials } from "./denials.ts"

function setUp() {
  const written: AuditEvent[] = []
  const state = { nowMs: 1_800_000_000_000, isUp: true, faults: 0, after: 0 }
  const accounts = {
    audit: async (events: readonly AuditEvent[]) => {
      if (!state.isUp) throw new Error("down")
      written.push(...events)
    },
    activeUsers: async () => [],
    findSession: async () => undefined,
  }
  const onDeny = auditDenials(
    { accounts, clock: { nowMs: () => state.nowMs }, random: { bytes: (length) => new Uint8Array(length) } },
    () => state.after++,
    () => state.faults++,
  )
  const values = createContextValues().set(kCall, { requestId: "req", ipTruncated: "203.0.113.0/24", network: null })
  const deny = (reason: string, caller: unknown) =>
    onDeny(
      { allow: false, reason, trueReason: reason, metadata: { scope: "messaging.write" } } as never,
      DeviceService.method.listDevices,
      caller as never,
      values,
      new Headers(),
    )
  return { written, state, deny }
}

test("a denial is recorded with its true reason, after the answer", () => {
  const { written, state, deny } = setUp()
  deny("MISSING_SCOPE", user)
  expect(state.after).toBe(1)
  expect(written).toMatchObject([
    {
      kind: "authz.denied",
      outcome: "DENIED",
      reason: "MISSING_SCOPE",
      actorPrincipalId: user.principal.id,
      sessionId: user.sessionId,
      denial: { callerKind: "USER", audience: user.audience, missing: "messaging.write" },
      request: { route: "signet.messaging.v1.DeviceService/ListDevices", ipTruncated: "203.0.113.0/24" },
    },
  ])
})

test("in ten minutes, twenty denials of a network and sixty of a caller are recorded, the rest counted, faults omitted", () => {
  const { written, state, deny } = setUp()
  for (let i = 0; i < 50; i++) deny("SIGNATURE_INVALID", "SIGNATURE_INVALID")
  expect(written).toHaveLength(20)
  for (let i = 0; i < 200; i++) deny("MISSING_SCOPE", user)
  expect(written).toHaveLength(80)
  for (const reason of ["UNAVAILABLE", "NO_CREDENTIAL", "TOKEN_EXPIRED"]) deny(reason, reason)
  expect(written).toHaveLength(80)
  state.nowMs += budgetWindowMs
  deny("SIGNATURE_INVALID", "SIGNATURE_INVALID")
  expect(written.slice(80).map(({ kind, target, actorPrincipalId }) => [kind, target?.id, actorPrincipalId])).toEqual([
    ["audit.counted", "30", null],
    ["audit.counted", "140", user.principal.id],
    ["authz.denied", undefined, null],
  ])
})

test("a failed write is reported as a fault, and changes no answer", async () => {
  const { state, deny } = setUp()
  state.isUp = false
  deny("MISSING_SCOPE", user)
  await expect.poll(() => state.faults).toBe(1)
})
