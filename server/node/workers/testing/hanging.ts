// A program with two workers. The second one blocks its event loop once it is ready; its replacement does not.

import cluster from "node:cluster"
import { once } from "node:events"
import { existsSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createLog } from "../../log.ts"
import { createPool } from "../pool.ts"
import { siblingsOf } from "../worker.ts"

const siblings = siblingsOf(process.env)
if (siblings === undefined) {
  cluster.setupPrimary({ exec: process.argv[1] ?? "", args: [] })
  let hung = 0
  const pool = createPool({
    log: createLog("silent"),
    env: process.env,
    onMessage: () => undefined,
    greeting: () => ({ is: "listening", listening: true }),
    onReady: () => undefined,
    onEnded: (worker) => console.log(`worker ${worker} ended`),
    onReplaced: () => console.log("replaced"),
    onHung: () => {
      hung++
      console.log("hung")
    },
  })
  pool.keep()
  await Promise.all([pool.start(1), pool.start(2)])
  console.log("both ready")
  process.stdin.resume().once("end", () => pool.stop().then(() => process.exit(hung)))
} else {
  siblings.onStop(() => process.exit(0))
  const server = createServer((_, response) => response.end("answered")).listen(Number(process.env.PORT), "127.0.0.1")
  await once(server, "listening")
  siblings.ready("http://127.0.0.1")
  if (!siblings.isFirst && isUnused(process.env.SIGNET_TEST_FLAG ?? "")) {
    setTimeout(() => {
      console.log("blocked")
      for (;;);
    }, 500)
  }
}

/** True once: creates the file. */
function isUnused(flag: string): boolean {
  if (existsSync(flag)) return false
  writeFileSync(flag, "")
  return true
}
