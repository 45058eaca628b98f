import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { nextAtMs, remaining, spanMicros, stepMicros, take } from "./bucket.ts"
import { defaultWindows, type Window } from "./policy.ts"

const aWindow = fc.record({
  limit: fc.integer({ min: 1, max: 1_000_000 }),
  seconds: fc.integer({ min: 1, max: 86_400 }),
})
const now = 1_800_000_000_000_000

/** Calls at these times, in microseconds from now; returns which were granted. */
function run(window: Window, times: readonly number[]): boolean[] {
  let full: number | undefined
  return times.map((time) => {
    const { granted, fullAtMicros } = take(full, window, now + time)
    full = fullAtMicros
    return granted
  })
}

describe("a bucket", () => {
  test("grants as many calls at once as its limit, and no more", () => {
    fc.assert(
      fc.property(
        fc.record({ limit: fc.integer({ min: 1, max: 500 }), seconds: aWindow.map((w) => w.seconds) }),
        (w) => {
          const granted = run(w, Array<number>(3 * w.limit).fill(0))
          expect(granted.filter(Boolean)).toHaveLength(w.limit)
          expect(granted.slice(0, w.limit).every(Boolean)).toBe(true)
        },
      ),
    )
  })

  test("grants the next call exactly at the stated microsecond", () => {
    fc.assert(
      fc.property(
        fc.record({ limit: fc.integer({ min: 1, max: 50 }), seconds: fc.integer({ min: 1, max: 600 }) }),
        (w) => {
          let full: number | undefined
          for (let i = 0; i < w.limit; i++) full = take(full, w, now).fullAtMicros
          const nextAt = Math.round(nextAtMs((full ?? 0) / 1_000, w) * 1_000)
          expect(take(full, w, nextAt - 1).granted).toBe(false)
          expect(take(full, w, nextAt).granted).toBe(true)
        },
      ),
    )
  })

  test("is full again after its seconds, to within a microsecond a call", () => {
    fc.assert(
      fc.property(aWindow, (w) => {
        expect(spanMicros(w)).toBeGreaterThanOrEqual(w.seconds * 1_000_000)
        expect(spanMicros(w)).toBeLessThan(w.seconds * 1_000_000 + w.limit)
      }),
    )
  })

  test("never grants more in any period than its limit and the refill", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 5_000_000 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(
        fc.record({ limit: fc.integer({ min: 1, max: 20 }), seconds: fc.integer({ min: 1, max: 60 }) }),
        gaps,
        (w, gaps) => {
          let at = 0
          const times = gaps.map((gap) => (at += gap))
          const granted = run(w, times)
          for (let from = 0; from < times.length; from++) {
            let count = 0
            for (let to = from; to < times.length; to++) {
              if (granted[to]) count++
              const elapsed = (times[to] ?? 0) - (times[from] ?? 0)
              expect(count).toBeLessThanOrEqual(w.limit + Math.floor(elapsed / stepMicros(w)))
            }
          }
        },
      ),
      { numRuns: 40 },
    )
  })

  test("is never below empty, even if another clock was ahead", () => {
    const { granted, fullAtMicros } = take(now + 10 ** 12, { limit: 2, seconds: 60 }, now)
    expect([granted, fullAtMicros]).toEqual([false, now + 60_000_000])
  })

  test.each<[string, number, number, number]>([
    ["a full one has all its calls", 0, 0, 10],
    ["one call taken", 6_000, 0, 9],
    ["a call that has half come back is not there yet", 6_000, 3_000, 9],
    ["an empty one has none", 60_000, 0, 0],
    ["one that another clock overdrew has none", 90_000, 0, 0],
  ])("%s", (_, fullAtMs, nowMs, left) => {
    expect(remaining(fullAtMs, { limit: 10, seconds: 60 }, nowMs)).toBe(left)
  })
})

test("the default windows are those of the design", () => {
  const a = (limit: number) => ({ limit, seconds: 60 })
  expect(defaultWindows).toEqual({
    login: { ip: a(30), device: a(10) },
    login_email: {
      ip: a(10),
      email: { limit: 50, seconds: 3_600 },
      device_token: { limit: 10, seconds: 3_600 },
      device_tokens: { limit: 30, seconds: 3_600 },
    },
    magic_link_start: {
      ip: a(5),
      email: { limit: 3, seconds: 900 },
      email_day: { limit: 20, seconds: 86_400 },
    },
    magic_link_confirm: { ip: a(20), token: { limit: 5, seconds: 86_400 } },
    sign_in_options: { ip: a(120) },
    notification: { ip: a(600) },
    refresh: { ip: a(120), session: a(30) },
    client_credentials: { ip: a(600), client: a(300) },
    pat: { ip: a(120), pat: a(60) },
    on_behalf_of: { actor: a(600), pair: a(60) },
    introspect: { caller: a(6_000) },
    revoke: { ip: a(600) },
    admin_write: { caller: a(60) },
    messaging_backend: { caller: a(6_000), user: a(600) },
    messaging_register: { ask: a(60), user: { limit: 10, seconds: 86_400 } },
    messaging_upload: { device: { limit: 60, seconds: 3_600 } },
    messaging_claim: { user: { limit: 300, seconds: 3_600 }, target: { limit: 30, seconds: 3_600 } },
    messaging_create: { user: { limit: 60, seconds: 3_600 } },
    messaging_append: { device: { limit: 60, seconds: 3 } },
    messaging_commit: { device: { limit: 4, seconds: 2 }, conversation: { limit: 4, seconds: 2 } },
    messaging_change: { device: a(600) },
    messaging_stream: { device: a(60) },
    messaging_reset: { user: { limit: 10, seconds: 86_400 } },
    messaging_rejoin: { device: { limit: 10, seconds: 3_600 } },
    messaging_admission: { device: { limit: 600, seconds: 3_600 } },
    messaging_resubmit: { device: a(120) },
    messaging_fork_report: { device: { limit: 10, seconds: 3_600 } },
    messaging_attachment: { device: a(60) },
    messaging_part: { device: a(600), user: { limit: 10_240, seconds: 86_400 } },
  })
})
