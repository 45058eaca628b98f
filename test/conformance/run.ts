// npm run conformance -- --url URL | --backend pglite|postgres|edge [--protocol NAME] [--subject NAME] [--isolation LEVEL]
// Checks a running server: each case over each protocol, as a table. The server runs in the development profile, whose
// stand-in provider signs in the suite's people. Its rate limits may be on (networks.ts).
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { serveEdge } from "../support/edge.ts"
import { patient } from "../support/messaging/patient.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { allCases, fits } from "./all-cases.ts"
import { networksTo } from "./networks.ts"
import { protocols, transportTo } from "./protocols.ts"
import { type Case, sceneOf } from "./scene.ts"
import { type Served, serve } from "./serve.ts"

const usage = `npm run conformance -- --url URL | --backend pglite|postgres|edge [--protocol NAME] [--subject NAME]
  --isolation LEVEL   default_transaction_isolation of --backend postgres, such as serializable`

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    backend: { type: "string" },
    protocol: { type: "string" },
    subject: { type: "string" },
    isolation: { type: "string" },
  },
})

type Outcome = "passed" | "failed" | "limited" | "has none"
const signs: Record<Outcome, string> = { passed: "✓", failed: "✗", limited: "L", "has none": "–" }

/**
 * A case waits for a short rate limit, such as that of commits, and not for one of hours, such as that of
 * registrations.
 */
const longestWaitSeconds = 60
class Limited extends Error {}

async function chosenServer(): Promise<Served> {
  const { url, backend, isolation } = values
  if (url !== undefined && backend === undefined) return { url: new URL(url).origin, close: async () => {} }
  if (url !== undefined || (backend !== "pglite" && backend !== "postgres" && backend !== "edge")) {
    console.error(usage)
    process.exit(2)
  }
  if (backend === "pglite") return serve()
  if (backend === "edge") return serveEdge()
  const postgres = await startPostgres(isolation ? { default_transaction_isolation: isolation } : {})
  if (postgres === undefined) throw new Error("there is no PostgreSQL on this machine")
  const served = await serve(postgres.url)
  return {
    url: served.url,
    async close() {
      await served.close()
      await postgres.stop()
    },
  }
}

const names = Object.keys(protocols).filter((name) => values.protocol === undefined || name === values.protocol)
const all = (await allCases()).filter(({ subject }) => values.subject === undefined || subject === values.subject)
if (names.length === 0 || all.length === 0) {
  console.error(usage)
  process.exit(2)
}

const server = await chosenServer()
const nextAddress = await networksTo(server.authUrl ?? server.url)
const world = developmentWorld(server.url, { ...server, nextAddress, waitForLimit })
const scenes = names.map((name) => sceneOf(world, name, patient(transportTo(server, name), waitForLimit)))
const width = Math.max(...all.map(({ sentence }) => sentence.length))
const failures: { of: string; error: unknown }[] = []
const began = performance.now()
console.log(`${server.url}: ${all.length} cases\n${" ".repeat(width)}    ${names.join("  ")}`)
let subject = ""
let isWaiting = false
let limited = 0
for (const one of all) {
  if (one.subject !== subject) console.log(`\n${one.subject}`)
  subject = one.subject
  const outcomes: Outcome[] = []
  for (const scene of scenes) outcomes.push(await outcomeOf(one, scene))
  const cells = outcomes.map((outcome, i) => signs[outcome].padStart(names[i]?.length ?? 0))
  console.log(`  ${one.sentence.padEnd(width)}  ${cells.join("  ")}`)
}
for (const { of, error } of failures) console.log(`\n✗ ${of}\n`, error)
const seconds = ((performance.now() - began) / 1_000).toFixed(1)
const notRun = limited > 0 ? `, ${limited} not run (L): they exceed the server's limits and need SIGNET_LIMITS=off` : ""
console.log(`\n${all.length} cases, ${failures.length} failures${notRun}, ${seconds} s`)
await server.close()
process.exit(failures.length === 0 ? 0 : 1)

async function waitForLimit(seconds: number): Promise<void> {
  if (seconds > longestWaitSeconds) throw new Limited(`the limit passes in ${seconds} s`)
  if (!isWaiting) console.log("  (waiting for the server's rate limits; SIGNET_LIMITS=off is faster)")
  isWaiting = true
  await pause(seconds * 1_000)
}

async function outcomeOf(one: Case, scene: (typeof scenes)[number]): Promise<Outcome> {
  if (!fits(one, scene.protocol)) return "has none"
  try {
    await one.run(scene)
    return "passed"
  } catch (error) {
    if (error instanceof Limited) {
      limited++
      return "limited"
    }
    failures.push({ of: `${one.subject}: ${one.sentence} (${scene.protocol})`, error })
    return "failed"
  }
}
