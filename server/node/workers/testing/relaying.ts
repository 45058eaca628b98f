// A program with two workers that print the hints they get. The second worker sends one when it may.

import { parseConfig } from "../../config.ts"
import { createLog } from "../../log.ts"
import { supervise } from "../supervisor.ts"
import { siblingsOf } from "../worker.ts"

const siblings = siblingsOf(process.env)
if (siblings === undefined) {
  const supervised = await supervise(parseConfig(process.env), process.env, createLog("silent"))
  process.stdin.resume().once("end", () => supervised.close().then(() => process.exit(0)))
} else {
  const say = (what: string) => console.log(`worker ${siblings.number} ${what}`)
  const bus = siblings.openBus({
    findDatabase: () => Promise.reject(new Error("a worker has no connection of its own")),
    origin: `worker${siblings.number}`,
    onHints: (hints) => say(`got ${hints.map(({ is }) => is).join()}`),
    onListening() {
      say(`listens ${bus.isListening()}`)
      if (!siblings.isFirst) bus.send([{ is: "revocations" }])
    },
    onError: () => undefined,
  })
  siblings.onStop(() => process.exit(0))
  siblings.ready("http://127.0.0.1")
}
