// The script: which step comes next, by chance alone, so that two servers are asked the same.
import type { Seeded } from "../simulation/seeded.ts"
import type { Side, Step } from "./side.ts"
import { attachments } from "./steps/attachments.ts"
import { conversations } from "./steps/conversations.ts"
import { directives } from "./steps/directives.ts"
import { hostile } from "./steps/hostile.ts"
import { keyPackages } from "./steps/key-packages.ts"
import { people } from "./steps/people.ts"
import { reads } from "./steps/reads.ts"
import { streams } from "./steps/streams.ts"

/** By name: how often one comes, and what it does. */
export const steps: Readonly<Record<string, readonly [weight: number, Step]>> = {
  ...people,
  ...keyPackages,
  ...conversations,
  ...directives,
  ...reads,
  ...hostile,
  ...attachments,
  ...streams,
}

const names = Object.keys(steps)
const total = names.reduce((sum, name) => sum + (steps[name]?.[0] ?? 0), 0)

/** So many people are there before anything else happens. */
const first = 3

/** The name of the step. */
export function next(rng: Seeded, { devices, conversations: made }: Side): string {
  if (devices.length < first) return "somebodyNew"
  if (made.length < 2) return "make"
  let left = (rng.below(1_000_000) / 1_000_000) * total
  for (const name of names) {
    left -= steps[name]?.[0] ?? 0
    if (left < 0) return name
  }
  return "text"
}
