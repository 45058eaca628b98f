// How long a revoked device stays in a group while members hold leases and commit without pause, in simulated time. The
// ratio is to the aim of 5 seconds.
import { removalMs } from "../simulation/held-leases.ts"
import { quantiles } from "./messaging/measure.ts"

const aimMs = 5_000

export const sizes = {
  usual: { hostile: [1, 10, 100], runs: 20 },
  smallest: { hostile: [1], runs: 1 },
}

export async function run({ hostile, runs }: typeof sizes.usual) {
  const rows = []
  for (const count of hostile) {
    const all: number[] = []
    for (let seed = 1; seed <= runs; seed++) all.push(await removalMs({ seed, hostile: count }))
    const { p50Ms, p99Ms } = quantiles(all)
    rows.push({ name: `a removal, hostile devices: ${count}`, ratio: p99Ms / aimMs, p50Ms, p99Ms })
  }
  return rows
}
