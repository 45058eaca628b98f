import { expect, test } from "vitest"
import { effort, isLong } from "../support/effort.ts"
import { removalMs } from "./held-leases.ts"

/** What docs/reference/messaging.md promises with one honest device online. */
const boundMs = 5_000
/** In 1 and 3, another device is first to lease the directive. */
const seeds = effort([1], [1, 3, 2, 4, 5], [1, 3, ...Array.from({ length: 20 }, (_, i) => i + 6)])

test.runIf(isLong).each(effort([0], [0, 1, 3, 20], [0, 1, 3, 20, 100]))(
  "a revoked device is removed within 5 s though %i member devices hold leases and commit without pause",
  async (hostile) => {
    for (const seed of seeds) expect(await removalMs({ seed, hostile }), `seed ${seed}`).toBeLessThan(boundMs)
  },
)
