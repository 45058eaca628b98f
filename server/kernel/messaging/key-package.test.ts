import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { chooseKeyPackage, decideClaim, inventoryOf, isClaimable, lifetimeFault, uploadFault } from "./key-package.ts"
import { bytes, device, keyPackage, nowMs } from "./testing/records.ts"

const day = 86_400_000

test.each<[string, Partial<Parameters<typeof lifetimeFault>[0]>, ReturnType<typeof lifetimeFault>]>([
  ["is good", {}, undefined],
  ["begins now", { notBeforeMs: nowMs }, undefined],
  ["begins later", { notBeforeMs: nowMs + 1 }, "not_before"],
  ["is in its last day", { notAfterMs: nowMs + day }, "not_after"],
  ["is 35 days long", { notBeforeMs: nowMs, notAfterMs: nowMs + 35 * day }, undefined],
  ["is longer", { notBeforeMs: nowMs, notAfterMs: nowMs + 35 * day + 1 }, "lifetime"],
  ["is longer, as a last resort", { isLastResort: true, notAfterMs: nowMs + 99 * day }, undefined],
  ["is longer than a last resort's", { isLastResort: true, notAfterMs: nowMs + 99 * day + 1 }, "lifetime"],
])("a lifetime that %s", (_, change, expected) => {
  expect(lifetimeFault(keyPackage(10, change), nowMs)).toBe(expected)
})

describe("a claim gets", () => {
  test("the package that expires first, and the last resort only without another", () => {
    const late = keyPackage(1, { notAfterMs: nowMs + 9 * day })
    const soon = keyPackage(2, { notAfterMs: nowMs + 2 * day })
    const last = keyPackage(3, { isLastResort: true, notAfterMs: nowMs + 1.5 * day })
    expect(chooseKeyPackage([late, last, soon], nowMs)).toBe(soon)
    expect(chooseKeyPackage([last, { ...soon, status: "CLAIMED" }], nowMs)).toBe(last)
    expect(chooseKeyPackage([{ ...last, status: "RETIRED" }], nowMs)).toBeUndefined()
  })

  test("no package that is not claimable", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(fc.constantFrom("AVAILABLE", "CLAIMED", "RETIRED"), fc.integer({ min: -3, max: 40 }), fc.boolean()),
        ),
        (pool) => {
          const records = pool.map(([status, days, isLastResort], i) =>
            keyPackage(i, { status, isLastResort, notAfterMs: nowMs + days * day } as object),
          )
          const chosen = chooseKeyPackage(records, nowMs)
          expect(chosen !== undefined).toBe(records.some((one) => isClaimable(one, nowMs)))
          if (chosen !== undefined) expect(isClaimable(chosen, nowMs)).toBe(true)
        },
      ),
    )
  })
})

test("an inventory below the low-water mark is reported", () => {
  expect(inventoryOf({ available: 9, hasLastResort: true })).toMatchObject({ isLow: true, lowWater: 10 })
  expect(inventoryOf({ available: 10, hasLastResort: false })).toMatchObject({ isLow: false })
})

test("a pool holds 200 and one last resort", () => {
  const once = keyPackage(1)
  const last = keyPackage(2, { isLastResort: true })
  expect(uploadFault(199, [once, last])).toBeUndefined()
  expect(uploadFault(200, [once])).toBe("LIMIT_EXCEEDED")
  expect(uploadFault(200, [last])).toBeUndefined()
  expect(uploadFault(0, [last, last])).toBe("LIMIT_EXCEEDED")
  expect(
    uploadFault(
      0,
      Array.from({ length: 101 }, () => once),
    ),
  ).toBe("LIMIT_EXCEEDED")
})

test("a claim id is one claim, of one device", () => {
  const asked = { requesterDeviceId: device(10), requestHash: bytes(1) }
  expect(decideClaim(undefined, asked)).toBe("claim")
  expect(decideClaim(asked, asked)).toBe("again")
  expect(decideClaim({ ...asked, requestHash: bytes(2) }, asked)).toBe("IDEMPOTENCY_MISMATCH")
  expect(decideClaim({ ...asked, requesterDeviceId: device(11) }, asked)).toBe("IDEMPOTENCY_MISMATCH")
})
