import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { createTestDatabase, describeOnPostgres } from "../../../test/support/postgres.ts"
import { createPostgresBus } from "../../wakeups/bus.ts"

const key = Buffer.alloc(32, 7).toString("base64")

describe.runIf(isLong)("hints of workers", () => {
  describeOnPostgres("over one connection", () => {
    test("reach the other workers and other machines, and hints of other machines reach every worker", async () => {
      const database = await createTestDatabase()
      const received: string[] = []
      let isListening = false
      const elsewhere = createPostgresBus({
        findDatabase: async () => database.url,
        origin: "elsewhere",
        onHints: (hints) => received.push(...hints.map(({ is }) => is)),
        onListening: () => {
          isListening = true
        },
        onError: () => undefined,
      })
      await expect.poll(() => isListening).toBe(true)
      const child = spawn(process.execPath, [join(import.meta.dirname, "testing/relaying.ts")], {
        env: {
          ...{ DATABASE_URL: database.url, SIGNET_ISSUER: "https://auth.example", SIGNET_WORKERS: "2" },
          ...{ SIGNET_SEALING_KEY: key, SIGNET_PEPPERS: `1:${key}`, ADMIN_PORT: "0", PORT: "1" },
        },
        stdio: ["pipe", "pipe", "inherit"],
      })
      let output = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text
      })
      const lines = () => output.split("\n").toSorted()
      const wait = { timeout: 60_000 }
      await expect.poll(lines, wait).toEqual(expect.arrayContaining(["worker 1 listens true", "worker 2 listens true"]))
      await expect.poll(() => received, wait).toContain("revocations")
      await expect.poll(lines, wait).toContain("worker 1 got revocations")
      elsewhere.send([{ is: "keyPackageLow", deviceId: "dev_00000000000000000000000000" as never }])
      await expect
        .poll(lines, wait)
        .toEqual(expect.arrayContaining(["worker 1 got keyPackageLow", "worker 2 got keyPackageLow"]))
      const ended = once(child, "exit")
      child.stdin.end()
      expect(await ended).toEqual([0, null])
      await elsewhere.close()
      await database.drop()
    }, 120_000)
  })
})
