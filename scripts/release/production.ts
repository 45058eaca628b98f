// The server with the packages that it imports in production, from node_modules as package-lock.json fixed them.
import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { readJson, root } from "../packages/plan.ts"
import type { Entry } from "./tar.ts"

export interface LockedModule {
  readonly name: string
  /** Where it is installed, relative to the root: `node_modules/pg`. */
  readonly path: string
  readonly version: string
  readonly integrity: string
  readonly license: string
}

interface Locked {
  readonly version: string
  readonly integrity: string
  readonly license?: string
  readonly os?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
}

/**
 * A package's dependencies, and theirs, by the rules by which Node finds modules.
 *
 * @throws Error for a package that exists for some platforms only: the image has one layer of modules for all.
 */
export function productionModules(dependencies: Iterable<string>): readonly LockedModule[] {
  const { packages } = readJson<{ packages: Readonly<Record<string, Locked>> }>("package-lock.json")
  const found = new Map<string, LockedModule>()
  const visit = (name: string, from: string): void => {
    const path = pathOf(name, from)
    const locked = packages[path]
    if (locked === undefined) throw new Error(`${from || "the server"} needs ${name}, which package-lock.json lacks`)
    if (found.has(path)) return
    if (locked.os !== undefined) throw new Error(`${name} exists for ${locked.os} only`)
    const { version, integrity } = locked
    const license = locked.license ?? readJson<{ license?: string }>(`${path}/package.json`).license ?? "NOASSERTION"
    found.set(path, { name, path, version, integrity, license })
    for (const dependency of Object.keys(locked.dependencies ?? {})) visit(dependency, path)
  }
  const pathOf = (name: string, from: string): string => {
    for (let at = from; at !== ""; at = parentOf(at)) {
      const path = `${at}/node_modules/${name}`
      if (packages[path] !== undefined) return path
    }
    return `node_modules/${name}`
  }
  for (const name of dependencies) visit(name, "")
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** `node_modules/a/node_modules/b` is inside `node_modules/a`. */
function parentOf(path: string): string {
  const at = path.lastIndexOf("/node_modules/")
  return at === -1 ? "" : path.slice(0, at)
}

/** Neither read at run time nor required by a licence. */
const isLeftOut = (path: string): boolean =>
  /\.(map|[cm]?ts|flow)$/.test(path) || (/\.(md|markdown)$/i.test(path) && !/licen[cs]e|notice/i.test(path))

/** @param into Folder of the image that gets `node_modules`. */
export function moduleEntries(modules: readonly LockedModule[], into: string): readonly Entry[] {
  return modules.flatMap(({ path }) => folderEntries(join(root, path), join(into, path), isLeftOut))
}

/** The files of a folder, without those of packages that are installed inside. */
export function folderEntries(
  folder: string,
  into: string,
  isLeftOut: (path: string) => boolean = () => false,
): readonly Entry[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    const relative = path.slice(folder.length + 1)
    if (!entry.isFile() || relative.split("/").includes("node_modules") || isLeftOut(relative)) return []
    const isProgram = (statSync(path).mode & 0o100) !== 0 && dirname(relative) === "bin"
    return [{ path: join(into, relative), mode: isProgram ? 0o755 : 0o644, content: readFileSync(path) }]
  })
}
