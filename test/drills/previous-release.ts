// The release before this one, from its commit: in a folder with its own dependencies, outside of the repository.
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

/** The last commit of the release before. */
const commit = "149e911"

const run = promisify(execFile)
const repository = join(import.meta.dirname, "../..")

/** False in a shallow clone, as CI may have. */
export async function hasPreviousRelease(): Promise<boolean> {
  return run("git", ["-C", repository, "cat-file", "-e", `${commit}^{commit}`]).then(
    () => true,
    () => false,
  )
}

/** Installs it once: a later call finds the folder. @returns Its folder. */
export async function previousRelease(): Promise<string> {
  const folder = process.env.SIGNET_PREVIOUS ?? join(tmpdir(), `signet-previous-${commit}`)
  if (existsSync(join(folder, "server/node/main.ts"))) return folder
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    const archive = join(unfinished, "archive.tar")
    await run("git", ["-C", repository, "archive", "-o", archive, commit])
    await run("tar", ["-xf", archive, "-C", unfinished])
    await run("npm", ["ci", "--no-progress", "--loglevel=error", "--ignore-scripts"], { cwd: unfinished })
    renameSync(unfinished, folder)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw error
  }
  return folder
}
