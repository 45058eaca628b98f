// The suite in `npm test`: on PGlite, one case of four, each over one protocol. In the longer form on PostgreSQL too, every case over
// every protocol; on one that is serializable; and on PostgreSQL 15 where a machine has it.
import { afterAll, beforeAll, describe, test, vi } from "vitest"
import { effort } from "../support/effort.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { findPostgresBinaries } from "../support/postgres-binaries.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { allCases, everyOne, inTurn } from "./all-cases.ts"
import { protocols } from "./protocols.ts"
import { type Case, type Scene, sceneOf } from "./scene.ts"
import { type Served, serve } from "./serve.ts"

vi.setConfig({ testTimeout: effort(60_000, 120_000, 120_000), hookTimeout: 120_000 })

const cases = await allCases()
const isLong = effort(false, true, true)
/** One of four: the whole is a minute of a machine that has more to do. */
const short = cases.filter(({ slow }) => !slow).filter((_, i) => i % 4 === 0)

interface Backend {
  readonly name: string
  readonly start: () => Promise<Served>
  readonly runs: readonly (readonly [Case, string])[]
  /** Why it is not there. */
  readonly missing?: string
}

const noPostgres = findPostgresBinaries() === undefined ? "no PostgreSQL was found" : undefined
const no15 = findPostgresBinaries(15) === undefined ? "no PostgreSQL 15 was found" : undefined

const backends: readonly Backend[] = [
  { name: "PGlite", start: () => serve(), runs: inTurn(isLong ? cases : short) },
  ...(isLong
    ? [
        { name: "PostgreSQL", start: () => onPostgres(), runs: everyOne(cases), ...missing(noPostgres) },
        {
          name: "PostgreSQL, serializable",
          start: () => onPostgres({ settings: { default_transaction_isolation: "serializable" } }),
          runs: inTurn(cases),
          ...missing(noPostgres),
        },
        { name: "PostgreSQL 15", start: () => onPostgres({ version: 15 }), runs: inTurn(cases), ...missing(no15) },
      ]
    : []),
]

describe.each(backends)("the messaging service ($name)", ({ missing: why, start, runs }) => {
  let served: Served
  const scenes = new Map<string, Scene>()
  beforeAll(async () => {
    if (why !== undefined) return
    served = await start()
    const world = developmentWorld(served.url)
    for (const [name, connect] of Object.entries(protocols)) {
      scenes.set(name, sceneOf(world, name, connect(served.url)))
    }
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
