import { expect, test } from "vitest"
import type { MessagingStore, Table } from "../../clients/core/messaging/store/store.ts"
import { effort } from "../support/effort.ts"
import { type Feature, features } from "./features.ts"
import { type Hostility, hostilities } from "./hostile.ts"
import { simulate } from "./simulate.ts"

const steps = 60

interface Asked {
  readonly hostility?: Hostility
  readonly features?: readonly Feature[]
}

/** What does not hold; a run that fails says how it is had again. */
async function expectSound(seed: number, asked: Asked = {}): Promise<void> {
  const { violations } = await simulate({ seed, steps, ...asked })
  const hostility = asked.hostility === undefined ? "" : ` --hostility "${asked.hostility}"`
  const on = asked.features === undefined || asked.features.length === 0 ? "" : ` --with ${asked.features.join()}`
  expect(violations, `npm run simulate -- --trace --seed ${seed}${hostility}${on}`).toEqual([])
}

/** Every other one with all that a run may have. */
const allOrNone = (seed: number): readonly Feature[] => (seed % 2 === 0 ? features : [])

/** At night others than the night before. */
const first = effort(1, 1, Math.floor(Date.now() / 86_400_000) * 10_000)

test("whatever the network drops and wherever processes end, nobody loses, doubles, forks or leaks", async () => {
  const count = effort(1, 30, 3_000)
  for (let seed = first; seed < first + count; seed++) await expectSound(seed, { features: allOrNone(seed) })
})

// Seeds that found something once, and find it again with the fault put back.
test("messages that were written in two epochs are sent in an order that opens", () => expectSound(17))
test("who is removed and let in again while it is away, hears of both", () => expectSound(33))
test("what is refused is never sent", () => expectSound(36))
test("who was second to begin a conversation, and was stopped, goes on in it", () => expectSound(1344))

// Each with a seed in which its lies matter.
const lied: Record<Hostility, number> = {
  "ghost member": 4,
  "dropped commit": 5,
  equivocation: 4,
  replay: 7,
  "old group info": 59,
}

test.each(hostilities)(
  "a service that has turned to %s makes nobody read what is not theirs, and all get along again afterwards",
  async (hostility) => {
    await expectSound(lied[hostility], { hostility })
    const count = effort(0, 3, 500)
    for (let seed = first; seed < first + count; seed++)
      await expectSound(seed, { hostility, features: allOrNone(seed) })
  },
)

test("who was kept from a commit, and is where the service is, asks to be let in again", () =>
  expectSound(24, { hostility: "replay" }))

test("the same seed is the same run", async () => {
  const [one, other] = [await simulate({ seed: 7, steps: 15 }), await simulate({ seed: 7, steps: 15 })]
  expect(other).toEqual(one)
})

test.each<[string, RegExp, (store: MessagingStore) => MessagingStore]>([
  ["loses what waits to be sent", /was stored, and is nowhere$/, without("outbox")],
  ["loses what was read", /misses/, without("timeline")],
])("a store that %s is noticed", async (_, violation, disk) => {
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
