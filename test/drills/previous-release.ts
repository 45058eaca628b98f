// The release before this one, from its commit, in a folder outside of the repository. Its packages are those of this
// repository if all versions are equal, and its own otherwise, which takes minutes once.
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

/** The last commit of the release before. */
const commit = "149e911"

const run = promisify(execFile)
const repository = join(import.meta.dirname, "../..")

interface PreviousRelease {
  readonly folder: string
  /** Removes what the next call writes again within seconds. */
  remove(): void
}

/** False in a shallow clone, as CI may have. */
export async function hasPreviousRelease(): Promise<boolean> {
  return run("git", ["-C", repository, "cat-file", "-e", `${commit}^{commit}`]).then(
    () => true,
    () => false,
  )
}

export async function previousRelease(): Promise<PreviousRelease> {
  const installed = process.env.SIGNET_PREVIOUS ?? join(tmpdir(), `signet-previous-${commit}`)
  if (existsSync(join(installed, "server/node/main.ts"))) return { folder: installed, remove: () => undefined }
  const folder = mkdtempSync(join(tmpdir(), "signet-previous-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const archive = join(folder, "archive.tar")
    await run("git", ["-C", repository, "archive", "-o", archive, commit])
    await run("tar", ["-xf", archive, "-C", folder])
    if (linkPackages(folder)) return { folder, remove }
    await run("npm", ["ci", "--no-progress", "--loglevel=error", "--ignore-scripts"], { cwd: folder })
    renameSync(folder, installed)
    return { folder: installed, remove: () => undefined }
  } catch (error) {
    remove()
    throw error
  }
}

interface Locked {
  readonly version: string
  /** The folder of a workspace. */
  readonly resolved?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

/** @returns False, and links nothing, if a package of production has another version in this repository. */
function linkPackages(folder: string): boolean {
  const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, Locked>>
  }
  const all = Object.entries(packages).filter(([path]) => path.startsWith("node_modules/"))
  const needed = all.filter(([, one]) => !(one.link || one.dev || one.optional || one.devOptional))
  if (needed.some(([path, { version }]) => versionOf(path) !== version)) return false
  // A nested package is found beside its parent.
  const roots = needed.filter(([path]) => path.lastIndexOf("node_modules/") === 0)
  const targets = roots.map(([path]) => [path, join(repository, path)] as const)
  const workspaces = all.filter(([, { link }]) => link === true)
  targets.push(...workspaces.map(([path, { resolved = "" }]) => [path, join(folder, resolved)] as const))
  for (const [path, target] of targets) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(target, join(folder, path))
  }
  return true
}

function versionOf(path: string): string | undefined {
  const manifest = join(repository, path, "package.json")
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, "utf8")) as Locked).version : undefined
}
