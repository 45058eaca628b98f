import { createContextValues } from "@connectrpc/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { user } from "@signet/kernel/authz/testing"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import { kCall } from "../../rpc/call.ts"
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
      { allow: false, reason, trueReason: reason } as never,
      DeviceService.method.listDevices,
      caller as never,
      values,
      new Headers(),
    )
  return { written, state, deny }
}

test("what a caller may not do is written with its true reason, after the answer", () => {
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
      request: { route: "signet.messaging.v1.DeviceService/ListDevices", ipTruncated: "203.0.113.0/24" },
    },
  ])
})

test("of strangers one in a hundred, of a caller sixty in a minute, and of faults nothing", () => {
  const { written, deny } = setUp()
  for (let i = 0; i < 200; i++) deny("NO_CREDENTIAL", "NO_CREDENTIAL")
  expect(written).toHaveLength(2)
  for (let i = 0; i < 200; i++) deny("MISSING_SCOPE", user)
  expect(written).toHaveLength(62)
  deny("UNAVAILABLE", "UNAVAILABLE")
  expect(written).toHaveLength(62)
})

test("what could not be written is a fault, and nobody's answer", async () => {
  const { state, deny } = setUp()
  state.isUp = false
  deny("MISSING_SCOPE", user)
  await expect.poll(() => state.faults).toBe(1)
})
