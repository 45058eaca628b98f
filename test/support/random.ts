// Seeded random numbers of tests: constant by default, new each night. SIGNET_DRAW_SEED repeats a failure. Random
// faults use these numbers, and `seed.ts` prints the seed if a test fails.

/** A constant seed, so that no change fails by chance. Nightly runs search with other seeds. */
const byDay = 20_261_122

export const seed = Number(
  process.env.SIGNET_DRAW_SEED ?? (process.env.SIGNET_NIGHTLY === "1" ? Math.floor(Math.random() * 2 ** 31) : byDay),
)
if (!Number.isSafeInteger(seed))
  throw new Error(`SIGNET_DRAW_SEED is ${process.env.SIGNET_DRAW_SEED}; it is to be a whole number`)

/** mulberry32: a deterministic sequence of integers below a bound. */
export function numbers(from: number): (below: number) => number {
  let state = from
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}
