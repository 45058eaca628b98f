import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort, isLong } from "../../../test/support/effort.ts"
import type { SigningKeyRecord } from "./ports.ts"
import { type FreshKey, isPublished, planCompromise, planRotation } from "./rotation.ts"

const hour = 3_600_000
const day = 24 * hour
const periods = { rotateAfterMs: 30 * day, publishAheadMs: day, retireAfterMs: day }

let made = 0
function freshKeys(): FreshKey[] {
  return [0, 1].map(() => {
    const kid = `key-${++made}`
    const publicJwk = { kty: "EC", crv: "P-256", x: kid, y: kid, kid, alg: "ES256", use: "sig" } as const
    return { kid, purpose: "ACCESS", publicJwk, privateSealed: new Uint8Array([1]) }
  })
}

/** Applies the writes as a store does: by kid, new keys last. */
function apply(keys: readonly SigningKeyRecord[], writes: readonly SigningKeyRecord[]): SigningKeyRecord[] {
  const byKid = new Map(keys.map((key) => [key.kid, key]))
  for (const write of writes) byKid.set(write.kid, write)
  return [...byKid.values()]
}

const rotated = (keys: readonly SigningKeyRecord[], nowMs: number) =>
  apply(keys, planRotation(keys, freshKeys(), nowMs, periods))
const compromised = (keys: readonly SigningKeyRecord[], kid: string, nowMs: number) =>
  apply(keys, planCompromise(kid, keys, freshKeys(), nowMs, periods))
const kidsOf = (keys: readonly SigningKeyRecord[], status: string) =>
  keys.filter((key) => key.status === status).map((key) => key.kid)

const started = rotated([], 0)
const [firstCurrent = ""] = kidsOf(started, "CURRENT")
const [firstNext = ""] = kidsOf(started, "NEXT")

describe("the keys rotate", () => {
  test("the first start creates CURRENT and NEXT", () => {
    expect(started.map((key) => key.status)).toEqual(["CURRENT", "NEXT"])
    expect(planRotation(started, freshKeys(), 30 * day - 1, periods)).toEqual([])
  })

  test("after 30 days NEXT signs, CURRENT stays published, and a new NEXT is published", () => {
    const keys = rotated(started, 30 * day)
    expect(kidsOf(keys, "CURRENT")).toEqual([firstNext])
    expect(kidsOf(keys, "PREVIOUS")).toEqual([firstCurrent])
    expect(kidsOf(keys, "NEXT")).toHaveLength(1)
    expect(planRotation(keys, freshKeys(), 31 * day - 1, periods)).toEqual([])
  })

  test("a key that stopped signing loses its private half at once and leaves the key set a day later", () => {
    const keys = rotated(started, 30 * day)
    expect(keys.find((key) => key.status === "PREVIOUS")?.privateSealed).toHaveLength(0)
    const later = rotated(keys, 31 * day)
    expect(kidsOf(later, "RETIRED")).toEqual([firstCurrent])
    expect(later.find((key) => key.status === "RETIRED")?.retiredAtMs).toBe(30 * day)
  })

  test("a key that was published for less than a day does not sign, even if due", () => {
    const late = compromised(started, firstNext, 30 * day - hour)
    const [newNext = ""] = kidsOf(late, "NEXT")
    expect(kidsOf(rotated(late, 30 * day), "CURRENT")).toEqual([firstCurrent])
    expect(kidsOf(rotated(late, 31 * day - hour), "CURRENT")).toEqual([newNext])
  })

  test("at most four keys are published: a fifth waits until one is retired", () => {
    const often = { ...periods, rotateAfterMs: hour, publishAheadMs: hour, retireAfterMs: 10 * hour }
    const rotate = (keys: readonly SigningKeyRecord[], nowMs: number) =>
      apply(keys, planRotation(keys, freshKeys(), nowMs, often))
    const full = rotate(rotate(started, hour), 2 * hour)
    expect(full.map(({ status }) => status)).toEqual(["PREVIOUS", "PREVIOUS", "CURRENT", "NEXT"])
    expect(planRotation(full, freshKeys(), 11 * hour - 1, often)).toEqual([])
    // One plan contains the retirement and the rotation that it makes room for.
    const next = rotate(full, 11 * hour)
    expect(next.map(({ status }) => status)).toEqual(["RETIRED", "PREVIOUS", "PREVIOUS", "CURRENT", "NEXT"])
  })

  test("a plan without fresh keys is a fault, not a rotation without a successor", () => {
    expect(() => planRotation(started, [], 30 * day, periods)).toThrow(RangeError)
    const own = started.map(({ kid, purpose, publicJwk, privateSealed }) => ({
      kid,
      purpose,
      publicJwk,
      privateSealed,
    }))
    expect(() => planRotation(started, own, 30 * day, periods)).toThrow(RangeError)
  })
})

describe("a key is compromised", () => {
  test("CURRENT: NEXT signs from that moment and there is a new NEXT", () => {
    const keys = compromised(started, firstCurrent, hour)
    expect(kidsOf(keys, "COMPROMISED")).toEqual([firstCurrent])
    expect(kidsOf(keys, "CURRENT")).toEqual([firstNext])
    expect(kidsOf(keys, "NEXT")).toHaveLength(1)
  })

  test("NEXT and then CURRENT within a minute: one key still signs", () => {
    const keys = compromised(compromised(started, firstNext, hour), firstCurrent, hour + 60_000)
    expect(keys.filter(isPublished).map((key) => key.status)).toEqual(["CURRENT", "NEXT"])
  })

  test.each(["unknown", firstCurrent])("nothing is written for an unknown or already compromised key: %s", (kid) => {
    const keys = compromised(started, firstCurrent, hour)
    expect(planCompromise(kid, keys, freshKeys(), 2 * hour, periods)).toEqual([])
  })
})

test.runIf(isLong)("the invariants of the key set hold for random sequences of events", () => {
  const step = fc.record({
    waitMs: fc.oneof(fc.nat(2 * hour), fc.nat(2 * day), fc.nat(40 * day)),
    compromise: fc.option(fc.nat(5), { freq: 3 }),
  })
  const periodsOf = fc.record({
    rotateAfterMs: fc.constantFrom(hour, day, 30 * day),
    publishAheadMs: fc.constantFrom(hour, day, 2 * day),
    retireAfterMs: fc.constantFrom(hour, day, 7 * day),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), periodsOf, (steps, chosen) => {
      let nowMs = 0
      let keys = apply([], planRotation([], freshKeys(), nowMs, chosen))
      for (const { waitMs, compromise } of steps) {
        nowMs += waitMs
        const before = keys
        const victim = compromise === null ? undefined : before[before.length - 1 - compromise]
        const writes =
          victim === undefined
            ? planRotation(before, freshKeys(), nowMs, chosen)
            : planCompromise(victim.kid, before, freshKeys(), nowMs, chosen)
        keys = apply(before, writes)

        const published = keys.filter(isPublished)
        expect(kidsOf(keys, "CURRENT")).toHaveLength(1)
        expect(kidsOf(keys, "NEXT")).toHaveLength(1)
        expect(published.length).toBeLessThanOrEqual(4)
        if (victim) expect(published.some((key) => key.kid === victim.kid)).toBe(false)

        const [signing] = keys.filter((key) => key.status === "CURRENT")
        const [signed] = before.filter((key) => key.status === "CURRENT")
        if (signing && signing.kid !== signed?.kid && victim?.kid !== signed?.kid) {
          expect(nowMs - signing.createdAtMs).toBeGreaterThanOrEqual(chosen.publishAheadMs)
        }
        for (const old of before) {
          const now = keys.find((key) => key.kid === old.kid)
          if (old.status === "COMPROMISED") expect(now).toEqual(old)
          if (old.status === "RETIRED") expect(now && isPublished(now)).toBe(false)
          if (now?.status === "RETIRED" && old.status !== "RETIRED") {
            expect(nowMs - (old.retiredAtMs ?? nowMs)).toBeGreaterThanOrEqual(chosen.retireAfterMs)
          }
          if (now && now.status !== "NEXT" && now.status !== "CURRENT") expect(now.privateSealed).toHaveLength(0)
        }
        if (planRotation(keys, freshKeys(), nowMs, chosen).length > 0) {
          // Only work that the compromise or retirement made possible remains, never the same work twice.
          const again = apply(keys, planRotation(keys, freshKeys(), nowMs, chosen))
          expect(planRotation(again, freshKeys(), nowMs, chosen)).toEqual([])
          keys = again
        }
      }
    }),
    { numRuns: effort(500, 5_000, 50_000) },
  )
})

test("a rotation is not planned with fewer than two new keys", () => {
  expect(() => planRotation([], freshKeys().slice(1), 0, periods)).toThrow(RangeError)
})
