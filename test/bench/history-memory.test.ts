// Both sides of a history transfer read and write in chunks: their memory does not grow with the history.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test, vi } from "vitest"
import { effort, isLong } from "../support/effort.ts"
import { freePort } from "../support/free-port.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { startProgram } from "../support/program.ts"
import { movingHistory } from "./client/history.ts"
import { issuerRoot, newPerson } from "./client/people.ts"

const sizes = effort([], [2_000, 8_000], [10_000, 40_000])
// With the memory of a phone, V8 collects garbage early: peaks are then what the work needs.
const smallHeap = "--max-old-space-size=96 --max-semi-space-size=2"
/** Bytes. Garbage collections at other moments cause smaller differences; 30,000 messages in memory take more. */
const mostGrowth = 16 * 2 ** 20

test.runIf(isLong)(
  "the peak memory of a backup and of a history transfer does not grow with the number of messages",
  { timeout: 1_800_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-history-"))
    const settings = { SIGNET_PROFILE: "development", SIGNET_LIMITS: "off", SIGNET_DATA: folder }
    vi.stubEnv("NODE_OPTIONS", smallHeap)
    const program = await startProgram({ ...settings, PORT: String(await freePort()) })
    try {
      const world = developmentWorld(program.url)
      const place = { rootKey: issuerRoot(folder), folder }
      const peaks: Map<string, number>[] = []
      for (const size of sizes) {
        const rows = await movingHistory(await newPerson(world, place), size)
        const measured = rows.filter((row) => "peakBytes" in row)
        expect(measured).toHaveLength(4)
        peaks.push(new Map(measured.map(({ name, peakBytes }) => [name.replace(`${size} `, ""), peakBytes])))
      }
      const [small, large] = peaks
      for (const [name, peak] of large ?? []) {
        expect(peak - (small?.get(name) ?? 0), `the growth of: ${name}`).toBeLessThan(mostGrowth)
      }
    } finally {
      await program.end("SIGTERM")
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
