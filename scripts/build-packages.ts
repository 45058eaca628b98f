// Builds the published packages into dist/packages, and packs them: libraries as ES modules and CommonJS with
// declarations and source maps, and the two programs.
//
// In the repository, packages export their sources; published packages export the build's output under the same names.
import { execFileSync } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { emitDeclarations } from "./packages/declarations.ts"
import { buildLibrary } from "./packages/libraries.ts"
import { libraries, root } from "./packages/plan.ts"
import { buildCommand, buildServer } from "./packages/programs.ts"

/**
 * @param into A folder for the build alone: its content is deleted.
 * @returns The folder of each package, by name.
 */
export async function buildPackages(into: string): Promise<ReadonlyMap<string, string>> {
  rmSync(into, { recursive: true, force: true })
  const build = join(into, ".build")
  emitDeclarations(join(build, "emitted"))
  const folders = new Map<string, string>()
  for (const library of libraries) {
    folders.set(library.name, await buildLibrary(library, join(build, "emitted"), into))
  }
  folders.set("@signet/cli", await buildCommand(into))
  folders.set("@signet/server", await buildServer(into))
  rmSync(build, { recursive: true, force: true })
  return folders
}

interface Packed {
  readonly name: string
  readonly filename: string
  readonly size: number
}

/** @returns The tarball of each package, by name. */
export function packPackages(folders: ReadonlyMap<string, string>, into: string): ReadonlyMap<string, string> {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", into, ...folders.values()]
  const packed: Packed[] = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8" }))
  return new Map(packed.map(({ name, filename }) => [name, join(into, filename)]))
}

if (import.meta.filename === process.argv[1]) {
  const into = join(root, "dist/packages")
  for (const [name, tarball] of packPackages(await buildPackages(into), into)) console.log(`${name}: ${tarball}`)
}
