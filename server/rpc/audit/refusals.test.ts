import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { budgetWindowMs } from "@signet/kernel/limits/audit-budget"
import { expect, test } from "vitest"
import { ownEvent } from "./audit.ts"
import { audited, causeOf, createRefusalAudit } from "./refusals.ts"

const random = { bytes: (length: number) => new Uint8Array(length) }

function setUp() {
  const written: AuditEvent[] = []
  const faults: unknown[] = []
  const state = { nowMs: 3 * budgetWindowMs, isUp: true }
  const clock = { nowMs: () => state.nowMs }
  const append = async (events: readonly AuditEvent[]) => {
    if (!state.isUp) throw new Error("down")
    written.push(...events)
  }
  const refusals = createRefusalAudit({ append, clock, random }, (fault) => faults.push(fault))
  const refuse = (network: string, facts: Partial<AuditEvent> = {}) =>
    refusals.record(
      { ...ownEvent({ random }, state.nowMs, { kind: "authz.denied", outcome: "DENIED" }), ...facts },
      { network },
    )
  const counts = () => written.filter(({ kind }) => kind === "audit.counted").map(({ target }) => target?.id)
  return { written, faults, state, refusals, refuse, counts }
}

test("unauthenticated callers of all networks share one budget, and one row counts the excess", async () => {
  const { written, state, refusals, refuse, counts } = setUp()
  for (let i = 0; i < 500; i++) await refuse(`network ${i}`)
  expect(written).toHaveLength(200)
  state.nowMs += budgetWindowMs
  await refusals.flush()
  expect(counts()).toEqual(["300"])
  expect(written).toHaveLength(201)
})

test("an actor has a budget per network and one in total, independent of unauthenticated callers", async () => {
  const { written, refuse } = setUp()
  const actorPrincipalId = newId("prn", 1, new Uint8Array(10))
  for (let i = 0; i < 500; i++) await refuse(`network ${i}`)
  const before = written.length
  for (let i = 0; i < 100; i++) await refuse("home", { actorPrincipalId })
  expect(written.length - before).toBe(60)
  for (const network of ["work", "train"]) for (let i = 0; i < 100; i++) await refuse(network, { actorPrincipalId })
  expect(written.length - before).toBe(120)
})

test("refused credentials of a person have a budget of their own, however many there are", async () => {
  const { written, refuse } = setUp()
  const subjectPrincipalId = newId("prn", 1, new Uint8Array(10))
  for (let i = 0; i < 500; i++) await refuse(`network ${i}`)
  const before = written.length
  const show = async (network: string, facts: Partial<AuditEvent>) => {
    for (let i = 0; i < 100; i++) await refuse(network, { subjectPrincipalId, ...facts })
    return written.length - before
  }
  expect(await show("home", { kind: "session.refresh_rejected" })).toBe(20)
  expect(await show("home", { kind: "pat.rejected", target: { type: "pat", id: "another" } })).toBe(20)
  expect(await show("work", { kind: "pat.misused" })).toBe(40)
  // The person's own calls are counted separately.
  expect(await show("home", { actorPrincipalId: subjectPrincipalId })).toBe(100)
})

test("a count that could not be written is written later, and the fault is reported", async () => {
  const { faults, state, refusals, refuse, counts } = setUp()
  for (let i = 0; i < 23; i++) await refuse("a")
  state.nowMs += budgetWindowMs
  state.isUp = false
  await refusals.flush()
  expect([faults.length, counts()]).toEqual([1, []])
  state.isUp = true
  await refuse("b")
  await refusals.flush()
  expect(counts()).toEqual(["3"])
})

test("the first cause of a refusal counts", () => {
  const refused = audited(new Refused("RATE_LIMITED"), { kind: "ratelimit.exceeded" })
  expect(causeOf(audited(refused, { kind: "pat.rejected" }))?.kind).toBe("ratelimit.exceeded")
})
