// The cost of hostile input for a client, before any signature is checked: processor time until it is rejected or
// decoded. Each kind once with as many elements as fit into its bytes, and once with as many as the client decodes.
import { requireFew } from "../../clients/core/messaging/engine/shape.ts"
import { strictMessage } from "../../clients/core/messaging/engine/strict.ts"
import { decodeTree } from "../../clients/core/messaging/engine/tree-bytes.ts"
import { manyElements, treeOf } from "../../clients/core/messaging/testing/many-elements.ts"
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

export const sizes = { usual: { bytes: 1_500_000, runs: 100 }, smallest: { bytes: 20_000, runs: 2 } }

export async function run({ bytes: most, runs }: typeof sizes.usual): Promise<Row[]> {
  return inputs(most).flatMap((input) => {
    const fits = fitting(input, most)
    const decodes = largest(fits, (count) => isCounted(input, count))
    return [...new Set([fits, decodes])].map((count) => measured(input, count, runs))
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
  const times: number[] = []
  let outcome = ""
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage()
    outcome = outcomeOf(() => decode(bytes))
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1_000)
  }
  return { name, bytes: bytes.length, elements, outcome, ...quantiles(times) }
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
