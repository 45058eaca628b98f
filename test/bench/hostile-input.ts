// The cost of hostile input for a client, before any signature is checked: processor time until it is rejected or
// decoded. Each kind once with as many elements as fit into its bytes, and once with as many as the client decodes.
import { most, requireFew } from "../../clients/core/messaging/engine/shape.ts"
import { strictMessage } from "../../clients/core/messaging/engine/strict.ts"
import { decodeTree } from "../../clients/core/messaging/engine/tree-bytes.ts"
import { manyElements, treeOf } from "../../clients/core/messaging/testing/many-elements.ts"
import { randomStructure } from "../../clients/core/messaging/testing/random-structures.ts"
import { seeded } from "../simulation/seeded.ts"
import { quantiles } from "./messaging/measure.ts"

export interface Row {
  readonly name: string
  readonly bytes: number
  readonly elements: number
  /** "decoded", or the reason of the rejection. */
  readonly outcome: string
  /** Processor time. */
  readonly p50Ms: number
  readonly p99Ms: number
}

interface Input {
  readonly name: string
  readonly kind: "message" | "tree"
  readonly make: (count: number) => Uint8Array
  readonly decode: (bytes: Uint8Array) => unknown
}

export const sizes = {
  usual: { bytes: 1_500_000, runs: 100, structures: 300 },
  smallest: { bytes: 100_000, runs: 2, structures: 4 },
}

export async function run({ bytes: limit, runs, structures }: typeof sizes.usual): Promise<Row[]> {
  const rows = inputs(limit).flatMap((input) => {
    const fits = fitting(input, limit)
    const decodes = largest(fits, (count) => isCounted(input, count))
    return [...new Set([fits, decodes])].map((count) => measured(input, count, runs))
  })
  return [...rows, ...randomOnes(structures)]
}

/** Structures of random form: each is decoded three times, and its time is the median. */
function randomOnes(count: number): Row[] {
  const random = seeded("hostile input")
  const all = Array.from({ length: count }, () => randomStructure(() => random.below(2 ** 20) / 2 ** 20))
  return [true, false].flatMap((isTree) => {
    const chosen = all.filter(({ wireformat }) => (wireformat === "tree") === isTree)
    if (chosen.length === 0) return []
    const times = chosen.map(({ bytes, decode }) => quantiles(timesOf(() => decode(bytes), 3).times).p50Ms)
    const name = `random ${isTree ? "trees" : "messages"}: ${chosen.length}`
    const bytes = Math.max(...chosen.map((one) => one.bytes.length))
    return [{ name, bytes, elements: most[isTree ? "tree" : "message"], outcome: "any", ...quantiles(times) }]
  })
}

function inputs(limit: number): readonly Input[] {
  const messages = Object.entries(manyElements).map(([name, { wireformat, of }]): Input => {
    return { name, kind: "message", make: of, decode: (bytes) => strictMessage(bytes, limit, wireformat) }
  })
  const trees = Object.entries(treeOf).map(([name, make]): Input => {
    return { name: `a tree: ${name}`, kind: "tree", make, decode: decodeTree }
  })
  return [...messages, ...trees]
}

function isCounted({ kind, make }: Input, count: number): boolean {
  try {
    requireFew(make(count), kind)
    return true
  } catch {
    return false
  }
}

/** How many elements fit into so many bytes, but for some whose length prefixes differ. */
function fitting({ make }: Input, bytes: number): number {
  const [few, more] = [make(100).length, make(1_100).length]
  return Math.floor(((bytes - few) * 1_000) / (more - few))
}

/** The largest count up to `most` for which the check holds. */
function largest(most: number, holds: (count: number) => boolean): number {
  let found = 0
  for (let step = 2 ** 20; step >= 1; step /= 2) if (found + step <= most && holds(found + step)) found += step
  return found
}

function measured({ name, make, decode }: Input, elements: number, runs: number): Row {
  const bytes = make(elements)
  const { outcome, times } = timesOf(() => decode(bytes), runs)
  return { name, bytes: bytes.length, elements, outcome, ...quantiles(times) }
}

function timesOf(work: () => unknown, runs: number) {
  const times: number[] = []
  let outcome = ""
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage()
    outcome = outcomeOf(work)
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1_000)
  }
  return { outcome, times }
}

function outcomeOf(work: () => unknown): string {
  try {
    work()
    return "decoded"
  } catch (error) {
    const { reason } = Object(error)
    if (typeof reason !== "string") throw error
    return reason
  }
}
