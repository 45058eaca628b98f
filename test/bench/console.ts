// A tenant's administrator in the console in Chromium, at a list of many members: from an input to the painted result.
// The floor is the same interaction in a tenant of 100 members, by turns with the large one, so that noise hits both.
// Sizes: npm run bench -- console --set members=1000000 --set rounds=20

import { chromiumMissing } from "../support/chromium.ts"
import {
  interact,
  interactions,
  type ManyMembersPage,
  openMembersConsole,
  openRoles,
} from "../support/console-members.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { quantiles } from "./messaging/measure.ts"

interface Row {
  readonly name: string
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** Of the median with 100 members. */
  readonly ratio?: number
  readonly requests?: number
  readonly bytes?: number
  readonly rows?: number
  readonly seconds?: number
}

const few = 100
/** Seeding writes some 4 GB with a million members: data on disk, and few checkpoints. */
const settings = { fsync: "off", shared_buffers: "256MB", max_wal_size: "2GB" }

export const sizes = {
  usual: { members: 1_000_000, rounds: 8 },
  smallest: { members: 1_000, rounds: 1 },
}

export async function run({ members, rounds }: typeof sizes.usual): Promise<Row[]> {
  if (chromiumMissing !== undefined) throw new Error(chromiumMissing)
  const postgres = await startPostgres(settings)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  try {
    const console = await openMembersConsole(postgres.url)
    try {
      const small = await console.addTenant("Few", few)
      const began = performance.now()
      const large = await console.addTenant("Many", members)
      const seconds = (performance.now() - began) / 1_000
      const [floor, costs] = await measured(small, large, rounds)
      return [
        ...rowsOf(`${few} members`, floor, floor),
        ...rowsOf(`${members} members`, costs, floor),
        { name: "members seeded", seconds },
      ]
    } finally {
      await console.close()
    }
  } finally {
    await postgres.stop()
  }
}

type Cost = Awaited<ReturnType<typeof interact>>
type Costs = Map<string, Cost[]>

/** Each interaction once in each round, in the order of a visit, in one tenant after the other. The first round warms up. */
async function measured(small: ManyMembersPage, large: ManyMembersPage, rounds: number): Promise<[Costs, Costs]> {
  const visits: [ManyMembersPage, Costs][] = [
    [small, new Map()],
    [large, new Map()],
  ]
  for (const [at] of visits) await openRoles(at, { reload: true })
  for (let round = 0; round <= rounds; round++) {
    for (const [at, costs] of visits) {
      await at.page.bringToFront()
      for (const interaction of interactions) {
        const cost = await interact(interaction, at, round)
        if (round > 0) costs.set(interaction.name, [...(costs.get(interaction.name) ?? []), cost])
      }
      await openRoles(at)
    }
  }
  return [visits[0]?.[1] ?? new Map(), visits[1]?.[1] ?? new Map()]
}

function rowsOf(where: string, costs: Costs, floor: Costs): Row[] {
  const medianOf = (of: Costs, name: string) => quantiles(of.get(name)?.map(({ ms }) => ms) ?? []).p50Ms
  return [...costs].map(([name, all]) => {
    const { requests, bytes, rows } = all.at(-1) ?? {}
    const times = quantiles(all.map(({ ms }) => ms))
    return {
      name: `${name}, ${where}`,
      ...times,
      ratio: times.p50Ms / medianOf(floor, name),
      ...{ requests: requests ?? 0, bytes: bytes ?? 0, rows: rows ?? 0 },
    }
  })
}
