import { expect, test, vi } from "vitest"
import { effort } from "../support/effort.ts"
import { recoveryAfterBadCommit } from "./stranded.ts"

vi.setConfig({ testTimeout: effort(180_000, 300_000, 3_600_000) })

/** A minute for the members to help, and two rounds of a waiting client. */
const boundMs = 120_000
const seeds = Array.from({ length: effort(1, 6, 50) }, (_, i) => i + 1)

test("a direct conversation continues without user action after a commit that no device can process, and shows one reset", async () => {
  for (const seed of seeds) {
    const { tookMs, shown } = await recoveryAfterBadCommit(seed)
    expect(tookMs, `seed ${seed}`).toBeLessThan(boundMs)
    for (const kinds of shown) expect(kinds.filter((is) => is === "reset")).toHaveLength(1)
  }
})
