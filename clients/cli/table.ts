// Formats rows for people and for scripts.
import { plain } from "./plain.ts"
import type { Terminal } from "./terminal.ts"

/** Columns with titles on a terminal; elsewhere tab-separated values without titles, for cut and awk. */
export function formatTable(
  terminal: Terminal,
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  if (!terminal.isOutTerminal) return rows.map((row) => row.map(plain).join("\t")).join("\n")
  const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => plain(row[i] ?? "").length)))
  const lineOf = (cells: readonly string[]) =>
    cells
      .map((cell, i) => plain(cell).padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd()
  return [terminal.paint("dim", lineOf(titles)), ...rows.map(lineOf)].join("\n")
}

/** Names and values, one per line; empty values are omitted. */
export function formatRecord(terminal: Terminal, entries: readonly (readonly [string, string | undefined])[]): string {
  const filled = entries.filter(
    (entry): entry is readonly [string, string] => entry[1] !== undefined && entry[1] !== "",
  )
  if (!terminal.isOutTerminal) return filled.map(([name, value]) => `${plain(name)}\t${plain(value)}`).join("\n")
  const width = Math.max(...filled.map(([name]) => name.length)) + 2
  return filled.map(([name, value]) => terminal.paint("dim", plain(name).padEnd(width)) + plain(value)).join("\n")
}
