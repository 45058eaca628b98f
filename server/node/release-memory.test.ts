import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { type Collected, isWorthCollecting } from "./release-memory.ts"

const mebibytes = (count: number) => count * 1_048_576

describe("a collection", () => {
  const usage = { busyShare: 0.02, heapUsed: mebibytes(70), heapTotal: mebibytes(120) }

  const nowMs = 1_000_000
  const longAgo = { atMs: nowMs - 600_000, heapTotal: mebibytes(100) }
  it.each<[string, Partial<typeof usage>, Collected | undefined, boolean]>([
    ["after the start", {}, undefined, true],
    ["while the event loop works", { busyShare: 0.2 }, undefined, false],
    ["of a large heap", { heapUsed: mebibytes(300), heapTotal: mebibytes(400) }, undefined, false],
    ["of a heap that has not grown since the last one", {}, longAgo, false],
    ["of a heap that has grown again", { heapTotal: mebibytes(140) }, longAgo, true],
    ["soon after the last one", { heapTotal: mebibytes(140) }, { ...longAgo, atMs: longAgo.atMs + 1 }, false],
  ])("%s", (_case, change, last, isDone) => {
    expect(isWorthCollecting({ ...usage, ...change }, nowMs, last)).toBe(isDone)
  })

  it("returns the memory of an idle process", () => {
    const program = `
      import { createMemoryRelease } from ${JSON.stringify(resolve(import.meta.dirname, "release-memory.ts"))}
      let held = Array.from({ length: 1e6 }, (_, index) => ({ index }))
      const full = process.memoryUsage().heapTotal
      held = undefined
      const release = createMemoryRelease()
      const began = Date.now()
      const timer = setInterval(() => {
        release()
        if (process.memoryUsage().heapTotal > full / 2 && Date.now() < began + 60_000) return
        clearInterval(timer)
        console.log(JSON.stringify({ full, left: process.memoryUsage().heapTotal, gc: typeof globalThis.gc }))
      }, 200)`
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })
    expect(stderr).not.toContain("Error")
    const { full, left, gc } = JSON.parse(stdout)
    expect(full).toBeGreaterThan(mebibytes(40))
    expect(left).toBeLessThan(mebibytes(20))
    expect(gc).toBe("undefined")
  })
})
