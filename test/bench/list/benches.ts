// The benches: the modules of the folder above that are no program.
import { readdirSync } from "node:fs"
import { join } from "node:path"

/** One line of a bench: what was measured and its numbers, whatever they are called. */
export type Row = Readonly<Record<string, unknown>>
/** How much a bench does: counts, seconds, or lists of them. */
export type Amounts = Readonly<Record<string, number | readonly number[]>>

interface Bench {
  readonly name: string
  readonly sizes: {
    readonly usual: Amounts
    /** Enough to see that the bench works; its numbers say nothing. */
    readonly smallest: Amounts
    /** What differs from the usual with --large. */
    readonly large?: Amounts
  }
  readonly run: (amounts: Amounts) => Promise<readonly Row[]>
}

const folder = join(import.meta.dirname, "..")

export function benchNames(): string[] {
  const files = readdirSync(folder).filter((file) => /^[a-z-]+\.ts$/.test(file) && file !== "run.ts")
  return files.map((file) => file.replace(/\.ts$/, "")).toSorted()
}

/** @throws TypeError when the module of this name exports no sizes or no run(). */
export async function loadBench(name: string): Promise<Bench> {
  const module: Record<string, unknown> = await import(`../${name}.ts`)
  if (!isBench(module)) throw new TypeError(`${name}.ts exports no run(), or no sizes with usual and smallest amounts`)
  const { sizes, run } = module
  return { name, sizes, run }
}

function isBench(module: object): module is Omit<Bench, "name"> {
  if (!("run" in module && typeof module.run === "function" && "sizes" in module)) return false
  const { sizes } = module
  return typeof sizes === "object" && sizes !== null && "usual" in sizes && "smallest" in sizes
}
