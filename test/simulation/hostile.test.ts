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
  "a service that has turned to %s makes nobody read what is not theirs, and all get along again afterwards",
  async (hostility) => {
    await expectSound(lied[hostility], { hostility, features: needed[hostility] ?? [] })
    const count = effort(0, 3, 500)
    for (let seed = first; seed < first + count; seed++)
      await expectSound(seed, { hostility, features: allOrNone(seed) })
  },
)

test.runIf(isLong)("who was kept from a commit, and is where the service is, asks to be let in again", () =>
  expectSound(24, { hostility: "replay" }),
)

test.skipIf(effort(true, false, false))(
  "who was told another story, and was removed and let in again in the true one, comes into that",
  () => expectSound(450, { hostility: "equivocation" }),
)
