import { type Outcome, type Play, simulate } from "../simulate.ts"
import type { Core } from "./core.ts"
import { differenceOf, type History } from "./history.ts"
import { nodeCore } from "./node-core.ts"

interface Compared {
  /** The run with messengers in Node, whose invariants are checked. */
  readonly inNode: Outcome
  readonly history: History["entries"]
  /** The first difference of the other core's run; undefined for equal histories. */
  readonly difference: string | undefined
}

/** Plays the same with messengers in Node, and then in another core. */
export async function compare(play: Omit<Play, "core" | "leadsTo">, core: Core): Promise<Compared> {
  const inNode = await simulate({ ...play, core: nodeCore })
  const other = await simulate({ ...play, core, leadsTo: inNode.leadsTo })
  const { history = [], trace } = inNode
  const isSame = (line: string, at: number) => line === other.trace[at]
  const inTrace = trace.length === other.trace.length && trace.every(isSame) ? undefined : "the traces differ"
  const [bug] = other.violations
  return { inNode, history, difference: differenceOf(history, other.history ?? []) ?? inTrace ?? bug }
}
