// npm run bench -- [name…] [--json] [--large | --smallest] [--set name=value…]: runs every module beside this one that
// exports run(), or those that are named. The module's `sizes` has the amounts that --set changes: a list has commas.
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { type Amounts, benchNames, loadBench, type Row } from "./list/benches.ts"

const { values, positionals } = parseArgs({
  options: {
    json: { type: "boolean" },
    large: { type: "boolean", default: false },
    smallest: { type: "boolean", default: false },
    set: { type: "string", multiple: true, default: [] },
  },
  allowPositionals: true,
})
const all = benchNames()
const unknown = positionals.filter((name) => !all.includes(name))
if (unknown.length > 0) fail(`There is no bench ${unknown.join(", ")}. There are: ${all.join(", ")}.`)
if (values.large && values.smallest) fail("--large and --smallest exclude each other.")
const chosen = await Promise.all(
  all.filter((name) => positionals.length === 0 || positionals.includes(name)).map(loadBench),
)
const set = new Map(values.set.map((one) => [one.split("=", 1).join(), one.slice(one.indexOf("=") + 1)]))
for (const name of set.keys()) {
  const names = new Set(chosen.flatMap(({ sizes }) => Object.keys(sizes.usual)))
  if (!names.has(name)) fail(`No chosen bench has an amount ${name}. There are: ${[...names].join(", ")}.`)
}

const results: Record<string, readonly Row[]> = {}
for (const { name, sizes, run } of chosen) {
  if (!values.json) console.log(`\n${name}`)
  const asked = values.smallest ? sizes.smallest : values.large ? sizes.large : {}
  results[name] = await run(withSet({ ...sizes.usual, ...asked }))
  if (!values.json) print(results[name])
}
if (values.json) {
  const machine = { node: process.version, platform: `${process.platform}-${process.arch}`, cpus: cpus().length }
  console.log(JSON.stringify({ at: new Date().toISOString(), ...machine, benches: results }, null, 2))
}

/** The amounts with what --set names, read as a number or as a list, whichever the bench has there. */
function withSet(amounts: Amounts): Amounts {
  const changed = Object.entries(amounts).map(([name, usual]): [string, Amounts[string]] => {
    const text = set.get(name)
    if (text === undefined) return [name, usual]
    const numbers = text.split(",").map(Number)
    const [first = Number.NaN, ...others] = numbers
    const isReadable =
      text !== "" && numbers.every((number) => number > 0) && (Array.isArray(usual) || others.length === 0)
    if (!isReadable)
      fail(`--set ${name}=${text} is no positive number${Array.isArray(usual) ? ", nor a list of them" : ""}.`)
    return [name, Array.isArray(usual) ? numbers : first]
  })
  return Object.fromEntries(changed)
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}

function print(rows: readonly Row[]): void {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const table = [columns, ...rows.map((row) => columns.map((column) => shown(row[column])))]
  const widths = columns.map((_, i) => Math.max(...table.map((cells) => cells[i]?.length ?? 0)))
  for (const cells of table) {
    // Names to the left, numbers to the right.
    console.log(
      `  ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ")}`,
    )
  }
}

function shown(value: unknown): string {
  if (typeof value !== "number") return value === undefined ? "–" : String(value)
  if (Number.isInteger(value)) return String(value)
  return value.toFixed(value < 10 ? 2 : value < 1_000 ? 1 : 0)
}
