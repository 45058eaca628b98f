// The suite in `npm test`: one case of 64 on the Worker, each over one protocol. The long form runs all cases on the
// Worker, and on PostgreSQL over two more protocols. The nightly form adds all protocols, PGlite, PostgreSQL 15 if the
// machine has it, and serializable transactions.
import { afterAll, beforeAll, describe, test } from "vitest"
import { serveEdge } from "../support/edge.ts"
import { effort, isLong } from "../support/effort.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { programDatabase } from "../support/postgres.ts"
import { findPostgresBinaries } from "../support/postgres-binaries.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { allCases, everyOne, inTurn } from "./all-cases.ts"
import { protocols, transportTo } from "./protocols.ts"
import { type Case, type Scene, sceneOf } from "./scene.ts"
import { type Served, serve } from "./serve.ts"

const cases = await allCases()
const isNight = effort(false, false, true)
/** The short form runs a part of these, because all cases take minutes. */
const quick = cases.filter(({ slow }) => !slow)
const short = (every: number, offset: number) => quick.filter((_, i) => i % every === offset)

/** Each case over two protocols; the Worker runs a third. */
const twice = [...inTurn(cases, 1), ...inTurn(cases, 3)]

interface Backend {
  readonly name: string
  readonly start: () => Promise<Served>
  readonly runs: readonly (readonly [Case, string])[]
  /** Why it is skipped. */
  readonly missing?: string
}

const noPostgres = findPostgresBinaries() === undefined ? "no PostgreSQL was found" : undefined
const no15 = findPostgresBinaries(15) === undefined ? "no PostgreSQL 15 was found" : undefined

const small: readonly Backend[] = [{ name: "the Worker", start: () => edgeOnPostgres(), runs: inTurn(short(64, 4)) }]
const long: readonly Backend[] = [
  { name: "the Worker", start: () => serveEdge(), runs: isNight ? everyOne(cases) : inTurn(cases) },
  { name: "PostgreSQL", start: () => onPostgres(), runs: isNight ? everyOne(cases) : twice, ...missing(noPostgres) },
]
const night: readonly Backend[] = [
  { name: "PostgreSQL 15", start: () => onPostgres({ version: 15 }), runs: inTurn(cases), ...missing(no15) },
  { name: "PGlite", start: () => serve(), runs: inTurn(cases) },
  {
    name: "PostgreSQL, serializable",
    start: () => onPostgres({ settings: { default_transaction_isolation: "serializable" } }),
    runs: inTurn(cases),
    ...missing(noPostgres),
  },
]
const backends = [...(isLong ? long : small), ...(isNight ? night : [])]
describe.each(backends)("the messaging service ($name)", ({ missing: why, start, runs }) => {
  const scenes = new Map<string, Scene>()
  let served: Served | undefined
  beforeAll(async () => {
    if (why !== undefined) return
    served = await start()
    const world = developmentWorld(served.url, served)
    for (const name of Object.keys(protocols)) scenes.set(name, sceneOf(world, name, transportTo(served, name)))
  })
  afterAll(() => served?.close())

  if (why !== undefined) test.skip(`skipped: ${why}`, () => {})
  else {
    for (const [{ subject, sentence, run }, protocol] of runs) {
      test(`${subject}: ${sentence} (${protocol})`, async () => {
        const scene = scenes.get(protocol)
        if (scene === undefined) throw new Error(`no protocol ${protocol}`)
        await run(scene)
      })
    }
  }
})

function missing(why: string | undefined): { missing?: string } {
  return why === undefined ? {} : { missing: why }
}

/** The Worker, with an auth service on an existing database. */
async function edgeOnPostgres(): Promise<Served> {
  const { settings, drop } = await programDatabase()
  const served = await serveEdge({ databaseUrl: settings.DATABASE_URL })
  return {
    ...served,
    async close() {
      await served.close()
      await drop()
    },
  }
}

async function onPostgres(options: { version?: number; settings?: Record<string, string> } = {}): Promise<Served> {
  const postgres = await startPostgres(options.settings, options.version)
  if (postgres === undefined) throw new Error("no PostgreSQL was found")
  const served = await serve(postgres.url)
  return {
    url: served.url,
    async close() {
      await served.close()
      await postgres.stop()
    },
  }
}
