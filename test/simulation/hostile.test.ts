import { test, vi } from "vitest"
import { effort, isLong } from "../support/effort.ts"
import type { Feature } from "./features.ts"
import { type Hostility, hostilities } from "./hostile.ts"
import { allOrNone, expectSound, first } from "./sound.ts"

vi.setConfig({ testTimeout: effort(180_000, 300_000, 7_200_000) })

// Each with a seed in which its lies matter.
const lied: Record<Hostility, number> = {
  "ghost member": 4,
  "dropped commit": 5,
  equivocation: 4,
  replay: 1,
  "late messages": 2,
  "old group info": 59,
  "bent parts": 12,
  "bent history": 1,
}

/** What a service lies about that is not in every run. */
const needed: Partial<Record<Hostility, readonly Feature[]>> = {
  "bent parts": ["attachments"],
  "bent history": ["pairing", "backup"],
}

test.each(effort<readonly Hostility[]>(["ghost member"], hostilities, hostilities))(
  "under %s by the service no device reads a message of others, and all devices converge afterwards",
  async (hostility) => {
    await expectSound(lied[hostility], { hostility, features: needed[hostility] ?? [] })
    const count = effort(0, 3, 500)
    for (let seed = first; seed < first + count; seed++)
      await expectSound(seed, { hostility, features: allOrNone(seed) })
  },
)

test.runIf(isLong)("a device at the service's epoch that did not get a commit requests to rejoin", () =>
  expectSound(24, { hostility: "replay" }),
)

test.skipIf(effort(true, false, false))(
  "a device on a fork that members removed and added again joins the true group",
  () => expectSound(450, { hostility: "equivocation" }),
)
