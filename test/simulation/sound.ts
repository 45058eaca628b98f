import { expect } from "vitest"
import { effort } from "../support/effort.ts"
import { type Feature, features } from "./features.ts"
import type { Hostility } from "./hostile.ts"
import { simulate } from "./simulate.ts"

const steps = 60

interface Asked {
  readonly hostility?: Hostility
  readonly features?: readonly Feature[]
}

/** What does not hold; a run that fails says how it is had again. */
export async function expectSound(seed: number, asked: Asked = {}): Promise<void> {
  const { violations } = await simulate({ seed, steps, ...asked })
  const hostility = asked.hostility === undefined ? "" : ` --hostility "${asked.hostility}"`
  const on = asked.features === undefined || asked.features.length === 0 ? "" : ` --with ${asked.features.join()}`
  expect(violations, `npm run simulate -- --trace --seed ${seed}${hostility}${on}`).toEqual([])
}

/** Every other one with all that a run may have. */
export const allOrNone = (seed: number): readonly Feature[] => (seed % 2 === 0 ? features : [])

/** At night others than the night before. */
export const first = effort(1, 1, Math.floor(Date.now() / 86_400_000) * 10_000)
