// Reads decisions.md. Every table has requirements as rows, situations as columns, and decisions as cells.
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The content of a cell: "allow", "allow nobody", or a reason with its detail. */
interface Cell {
  readonly requirement: string
  readonly situation: string
  readonly decision: string
  /** The scope, permission, role or number of seconds that the denial names; "nobody" if the handler gets no caller. */
  readonly detail: string | undefined
}

/** @throws Error if a table's rows have different lengths. */
export function readTable(): readonly Cell[] {
  const lines = readFileSync(join(import.meta.dirname, "decisions.md"), "utf8").split("\n")
  let header: readonly string[] | undefined
  return lines.flatMap((line): Cell[] => {
    const cells = line.startsWith("|") ? cellsOf(line) : undefined
    if (cells === undefined || header === undefined) {
      header = cells
      return []
    }
    const [requirement = "", ...decisions] = cells
    if (/^-+$/.test(requirement)) return []
    if (cells.length !== header.length) throw new Error(`an uneven row: ${line}`)
    const names = header.slice(1)
    return decisions.flatMap((text, i): Cell[] => {
      if (text === "") return []
      const [decision = "", detail] = text.split(" ")
      return [{ requirement, situation: names[i] ?? "", decision, detail }]
    })
  })
}

function cellsOf(line: string): readonly string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim())
}
