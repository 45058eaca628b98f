import { expect, test, vi } from "vitest"
import type { MessagingStore, Table } from "../../clients/core/messaging/store/store.ts"
import { effort, isLong } from "../support/effort.ts"
import { simulate } from "./simulate.ts"
import { allOrNone, expectSound, first } from "./sound.ts"

vi.setConfig({ testTimeout: effort(180_000, 600_000, 7_200_000) })

test("whatever the network drops and wherever processes end, no message is lost, duplicated or leaked, and no group forks", async () => {
  const count = effort(1, 8, 3_000)
  for (let seed = first; seed < first + count; seed++) await expectSound(seed, { features: allOrNone(seed) })
})

// Seeds that found something once, and find it again with the fault put back.
test.runIf(isLong)("messages that were encrypted in two epochs are sent in an order that receivers can decrypt", () =>
  expectSound(17),
)
test.runIf(isLong)("a device that is removed and added again while it is offline reports both", () => expectSound(43))
test.runIf(isLong)("a refused message is never sent", () => expectSound(36))

test("the same seed gives the same run", async () => {
  const [one, other] = [await simulate({ seed: 7, steps: 15 }), await simulate({ seed: 7, steps: 15 })]
  expect(other).toEqual(one)
})

test.each<[string, RegExp, (store: MessagingStore) => MessagingStore]>([
  ["loses what waits to be sent", /was stored, and is nowhere$/, without("outbox")],
  ["loses what was read", /misses/, without("timeline")],
])("a store that %s is detected", async (_, violation, disk) => {
  const { violations } = await simulate({ seed: 3, steps: 30, disk })
  expect(violations).toContainEqual(expect.stringMatching(violation))
})

/** Writes everything but that. */
function without(table: Table): (store: MessagingStore) => MessagingStore {
  return (store) => ({
    ...store,
    transact: (space, generation, ops) =>
      store.transact(
        space,
        generation,
        ops.filter((op) => op.table !== table),
      ),
  })
}
