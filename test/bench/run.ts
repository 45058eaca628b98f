// npm run bench -- [name…] [--json] [--large] [--set name=value…]: runs every module beside this one that exports run(), or
// those that are named; what may be set is said at the top of each.
import { readdirSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"

/** One line of a bench: what was measured and its numbers, whatever they are called. */
type Row = Readonly<Record<string, unknown>>

const { values, positionals } = parseArgs({
  options: {
    json: { type: "boolean" },
    large: { type: "boolean", default: false },
    set: { type: "string", multiple: true, default: [] },
  },
  allowPositionals: true,
})
const benches = new Map(
  readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith(".ts") && file !== "run.ts")
    .toSorted()
    .map((file) => [file.replace(/(\.bench)?\.ts$/, ""), file]),
)
const set = Object.fromEntries(values.set.map((one) => [one.split("=", 1).join(), one.slice(one.indexOf("=") + 1)]))
const unknown = positionals.filter((name) => !benches.has(name))
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(", ")}. There are: ${[...benches.keys()].join(", ")}.`)
  process.exit(2)
}

const results: Record<string, readonly Row[]> = {}
for (const [name, file] of benches) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  if (!values.json) console.log(`\n${name}`)
  results[name] = await rowsOf(file)
  if (!values.json) print(results[name])
}
if (values.json) {
  const machine = { node: process.version, platform: `${process.platform}-${process.arch}`, cpus: cpus().length }
  console.log(JSON.stringify({ at: new Date().toISOString(), ...machine, benches: results }, null, 2))
}

/** @throws TypeError when the module does not measure. */
async function rowsOf(file: string): Promise<readonly Row[]> {
  const module: Record<string, unknown> = await import(`./${file}`)
  if (typeof module.run !== "function") throw new TypeError(`${file} exports no run()`)
  const result: unknown = await module.run({ isLarge: values.large, set })
  const rows = typeof result === "object" && result !== null && "rows" in result ? result.rows : result
  if (!Array.isArray(rows)) throw new TypeError(`${file} gives no rows`)
  return rows
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
