import { describe, expect, test } from "vitest"
import { idOf } from "../ids.ts"
import {
  decideLease,
  decideLeave,
  decideRejoin,
  decideRevocation,
  directivesAfter,
  mayCarryOut,
  requiredCommit,
} from "./directive.ts"
import type { Conversation, Directive } from "./records.ts"
import { bytes, conversation, device, directive, leaf, nowMs, user } from "./testing/records.ts"

const open: Conversation = { ...conversation, directives: [directive] }
const lease = (by: number, change: Partial<Directive> = {}, where: Partial<Conversation> = {}) =>
  decideLease({ ...open, directives: [{ ...directive, ...change }], ...where }, directive.id, device(by), nowMs)

/** The lease of the directive by a device that another directive removes. */
const besides = (kind: Directive["kind"], deviceId: Directive["deviceId"]) => {
  const another = { ...directive, id: idOf("dir", bytes(77, 16)), kind, userId: user(2), deviceId }
  return lease(20, {}, { directives: [{ ...directive, userId: user(1), deviceId: device(10) }, another] })
}

describe("a lease", () => {
  test("lasts two seconds, and nobody can extend it", () => {
    const first = lease(10)
    const untilMs = nowMs + 2_000
    expect(first).toMatchObject({ is: "lease", directive: { lease: { deviceId: device(10), untilMs } } })
    if (first.is !== "lease") throw new Error("refused")
    const { directive: leased } = first
    const later = (by: number, ms: number) => decideLease({ ...open, directives: [leased] }, leased.id, device(by), ms)
    expect(later(10, untilMs - 1)).toEqual({ is: "lease", directive: leased })
    expect(later(20, untilMs - 1)).toEqual({ is: "refuse", reason: "DIRECTIVE_LEASED", retryAtMs: untilMs })
    for (const by of [10, 20]) expect(later(by, untilMs)).toEqual({ is: "lease", directive: leased })
  })

  test("keeps others from committing until it ends, and nobody commits without one", () => {
    const leased = { ...directive, lease: { deviceId: device(10), untilMs: nowMs } }
    expect(mayCarryOut(leased, device(20), nowMs - 1)).toBe(false)
    expect(mayCarryOut(leased, device(20), nowMs)).toBe(true)
    for (const ms of [nowMs - 1, nowMs]) expect(mayCarryOut(leased, device(10), ms)).toBe(true)
    expect(mayCarryOut(directive, device(10), nowMs)).toBe(false)
  })

  test.each<[string, ReturnType<typeof lease>, string]>([
    ["its target", lease(21), "DEVICE_REVOKED"],
    ["who asked to rejoin by it", lease(21, { kind: "REJOIN" }), "NOT_MEMBER"],
    ["a device that another directive revokes", besides("REVOCATION", device(20)), "DEVICE_REVOKED"],
    ["a device whose user leaves", besides("LEAVE", null), "NOT_MEMBER"],
    ["a stranger", lease(30), "NOT_MEMBER"],
    ["anybody when it is done", lease(10, { status: "DONE" }), "NOTHING_TO_DO"],
    ["anybody in a closed conversation", lease(10, {}, { status: "CLOSED" }), "CONVERSATION_CLOSED"],
    ["anybody when it is not there", lease(10, {}, { directives: [] }), "NOT_FOUND"],
  ])("is not for %s", (_, decision, reason) => {
    expect(decision).toMatchObject({ is: "refuse", reason })
  })
})

const asked = { id: directive.id, userId: user(2), deviceId: null, nowMs }

describe("leaving", () => {
  test("issues one directive", () => {
    const decision = decideLeave(conversation, asked)
    expect(decision).toMatchObject({ is: "issue", directive: { kind: "LEAVE", deviceId: null, userId: user(2) } })
    if (decision.is !== "issue") throw new Error("refused")
    expect(decideLeave({ ...conversation, directives: [decision.directive] }, asked)).toEqual({
      is: "there",
      directive: decision.directive,
    })
  })

  test("closes the conversation if no member could commit it", () => {
    expect(decideLeave({ ...conversation, roster: [leaf(1, 20)] }, asked)).toEqual({ is: "close" })
    const other = { ...directive, kind: "LEAVE", userId: user(1), deviceId: null } as const
    expect(decideLeave({ ...conversation, directives: [other] }, asked)).toEqual({ is: "close" })
  })

  test("is refused to non-members, and in a direct conversation", () => {
    expect(decideLeave(conversation, { ...asked, userId: user(3) })).toMatchObject({ reason: "NOT_MEMBER" })
    expect(decideLeave({ ...conversation, kind: "DIRECT" }, asked)).toMatchObject({
      reason: "MEMBERSHIP_CHANGE_NOT_ALLOWED",
    })
  })
})

describe("a revocation", () => {
  const revoked = { ...asked, deviceId: device(21) }

  test("issues one directive for the device's leaf, and none without a leaf", () => {
    expect(decideRevocation(conversation, revoked)).toMatchObject({ is: "issue", directive: { deviceId: device(21) } })
    expect(decideRevocation(open, revoked)).toEqual({ is: "there", directive })
    expect(decideRevocation(conversation, { ...revoked, deviceId: device(29) })).toEqual({
      is: "there",
      directive: null,
    })
    expect(decideRevocation({ ...conversation, status: "CLOSED" }, revoked)).toEqual({ is: "there", directive: null })
  })

  test("of the last device closes a direct or group conversation", () => {
    const alone = { ...conversation, roster: [leaf(2, 21)] }
    expect(decideRevocation(alone, revoked)).toEqual({ is: "close" })
    expect(decideRevocation({ ...alone, kind: "DIRECT" }, revoked)).toEqual({ is: "close" })
  })
})

test("a rejoin is a removal and a re-adding, and a second request returns the first", () => {
  const decision = decideRejoin(conversation, { ...asked, deviceId: device(21) })
  if (decision.is !== "issue") throw new Error("refused")
  const { directive: rejoin } = decision
  expect(decideRejoin({ ...conversation, directives: [rejoin] }, { ...asked, deviceId: device(21) })).toMatchObject({
    is: "there",
  })
  const [removed] = directivesAfter([rejoin], [leaf(0, 10), leaf(1, 20)])
  expect(removed).toMatchObject({ status: "REMOVED", lease: null })
  const [still] = directivesAfter(removed === undefined ? [] : [removed], [leaf(0, 10)])
  expect(still).toMatchObject({ status: "REMOVED" })
  const [done] = directivesAfter(removed === undefined ? [] : [removed], conversation.roster)
  expect(done).toMatchObject({ status: "DONE" })
  expect(decideRejoin(open, { ...asked, deviceId: device(21) })).toMatchObject({ reason: "NOT_MEMBER" })
})

test("a rejoin notes that its device has read beyond the log, also if it was requested before", () => {
  const ofDevice = { ...asked, deviceId: device(21) }
  const { headSeq } = conversation
  const first = decideRejoin(conversation, { ...ofDevice, processedSeq: headSeq })
  if (first.is !== "issue") throw new Error("refused")
  expect(first.directive.isBeyondLog).toBeUndefined()
  const waiting = { ...conversation, directives: [first.directive] }
  const second = decideRejoin(waiting, { ...ofDevice, processedSeq: headSeq + 1n })
  if (second.is !== "issue") throw new Error("there")
  expect(second.directive.isBeyondLog).toBe(true)
  const both = { ...conversation, directives: [first.directive, second.directive] }
  expect(decideRejoin(both, { ...ofDevice, processedSeq: headSeq + 1n })).toEqual({ ...second, is: "there" })
  const removed = directivesAfter(both.directives, [leaf(0, 10), leaf(1, 20)])
  expect(removed.map(({ status }) => status)).toEqual(["REMOVED", "REMOVED"])
  expect(directivesAfter(removed, conversation.roster).map(({ status }) => status)).toEqual(["DONE", "DONE"])
})

test("a removal is done once its last leaf is removed", () => {
  const all = { ...directive, deviceId: null }
  expect(directivesAfter([all], [leaf(0, 10), leaf(1, 20)])[0]?.status).toBe("OPEN")
  expect(directivesAfter([all], [leaf(0, 10)])[0]?.status).toBe("DONE")
})

describe("a DONE directive", () => {
  const done = { ...directive, status: "DONE" } as const
  const ofDevice = { ...asked, deviceId: device(21) }

  test("stays DONE for any roster", () => {
    const rejoined = { ...done, kind: "REJOIN" } as const
    for (const roster of [conversation.roster, []]) {
      expect(directivesAfter([done, rejoined], roster)).toEqual([done, rejoined])
    }
  })

  test("blocks nothing", () => {
    for (const kind of ["COMMIT", "APPLICATION"] as const) {
      expect(requiredCommit(open, kind, nowMs)).toEqual(directive)
      expect(requiredCommit({ directives: [done] }, kind, nowMs)).toBeUndefined()
    }
  })

  test("does not prevent another removal or REJOIN of that device", () => {
    expect(decideRevocation({ ...conversation, directives: [done] }, ofDevice)).toMatchObject({ is: "issue" })
    const rejoined = { ...done, kind: "REJOIN" } as const
    expect(decideRejoin({ ...conversation, directives: [rejoined] }, ofDevice)).toMatchObject({ is: "issue" })
  })
})

test("a device without a leaf cannot request a rejoin", () => {
  const stranger = { ...asked, userId: user(3), deviceId: device(30) }
  expect(decideRejoin(conversation, stranger)).toEqual({ is: "refuse", reason: "NOT_MEMBER" })
})
