import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { freePort } from "../../../test/support/free-port.ts"

test.runIf(isLong)(
  "a worker whose event loop is blocked is killed and replaced, and the other is not",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-pool-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const port = await freePort()
    const child = spawn(process.execPath, [join(import.meta.dirname, "testing/hanging.ts")], {
      env: { SIGNET_TEST_FLAG: join(folder, "flag"), PORT: String(port) },
      stdio: ["pipe", "pipe", "inherit"],
    })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
    const ended = once(child, "exit")
    const lines = () => output.split("\n")
    const wait = { timeout: 120_000 }
    await expect.poll(lines, wait).toEqual(expect.arrayContaining(["both ready", "blocked"]))
    const ask = async () => (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: "close" } })).text()
    const answers = await Promise.allSettled(Array.from({ length: 8 }, ask))
    // A worker gets one connection at a time. Its client sees the end of the connection when the worker is killed.
    expect(answers.filter(({ status }) => status === "rejected").length).toBe(1)
    await expect.poll(lines, wait).toEqual(expect.arrayContaining(["hung", "worker 2 ended", "replaced"]))
    child.stdin.end()
    // Its status is the number of workers that hung.
    expect(await ended).toEqual([1, null])
  },
  180_000,
)

// Contract-tested with a fake: the worker is a script.
test("a worker that hangs before it is ready is ended, and replaced after pauses that grow", async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "testing/unready.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
  })
  const ended = once(child, "exit")
  await expect.poll(() => output, { timeout: 60_000, interval: 20 }).toContain("ready: 1")
  child.stdin.end()
  // Its status is the number of workers that hung.
  expect(await ended).toEqual([3, null])
  expect(output).toMatch(/^first: hung$/m)
  expect(output).toMatch(/^second: hung$/m)
  const logged = output.split("\n").filter((line) => line.startsWith("{"))
  const lines = logged.map((line) => JSON.parse(line) as { worker: number; msg: string; signal?: string })
  const hangs = { worker: 2, msg: "a worker hangs in its start and is ended" }
  const end = { worker: 2, msg: "a worker ended", signal: "SIGKILL" }
  expect(lines).toMatchObject([{ ...hangs, worker: 1 }, hangs, end, hangs, end])
  const pauses = [...output.matchAll(/^pause (\S+)$/gm)].map(([, ms]) => Number(ms))
  expect(pauses).toHaveLength(2)
  // Timers may be a millisecond early.
  expect(pauses[0]).toBeGreaterThan(18)
  expect(pauses[1]).toBeGreaterThan(38)
}, 90_000)
