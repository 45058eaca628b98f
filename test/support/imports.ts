import { dirname, join } from "node:path"

/** The module specifiers that the code imports. */
export const importsOf = (text: string): string[] =>
  [
    ...text.matchAll(
      /^\s*(?:import|export)\b[^"'`]*?\bfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3] ?? "")

type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>

/** Returns the source files that each source file imports. @param packages Folders of packages, by package name. */
export function importGraph(
  paths: readonly string[],
  packages: Readonly<Record<string, string>>,
  read: (path: string) => string,
): ImportGraph {
  const known = new Set(paths)
  const fileOf = (from: string, specifier: string): string => {
    if (specifier.startsWith(".")) return join(dirname(from), specifier)
    const name = specifier.split("/").slice(0, 2).join("/")
    return `${packages[name] ?? name}${specifier.slice(name.length)}.ts`
  }
  return new Map(
    paths.map((path) => {
      const files = importsOf(read(path)).map((specifier) => fileOf(path, specifier))
      return [path, new Set(files.filter((file) => known.has(file)))]
    }),
  )
}

/** The imports of a graph that are on a cycle, or between two cycles. */
export function importsOnCycles(graph: ImportGraph, without: readonly string[] = []): string[] {
  let left = [...graph].flatMap(([from, files]) => [...files].map((to) => ({ from, to })))
  left = left.filter(({ from, to }) => !without.includes(`${from} -> ${to}`))
  for (;;) {
    const importers = new Set(left.map(({ from }) => from))
    const imported = new Set(left.map(({ to }) => to))
    const next = left.filter(({ from, to }) => importers.has(to) && imported.has(from))
    if (next.length === left.length) return left.map(({ from, to }) => `${from} -> ${to}`)
    left = next
  }
}

/** True if a chain of imports leads from one file to another. */
export function leadsTo(graph: ImportGraph, from: string, to: string, seen = new Set<string>()): boolean {
  if (from === to) return true
  if (seen.has(from)) return false
  seen.add(from)
  return [...(graph.get(from) ?? [])].some((next) => leadsTo(graph, next, to, seen))
}
