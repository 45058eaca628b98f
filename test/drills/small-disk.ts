// A file system in memory of a few megabytes. Only root may mount one.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface SmallDisk {
  readonly folder: string
  /** Fills all but the given bytes with a file. */
  fill(leftBytes: number): void
  /** Deletes that file. */
  free(): void
  close(): void
}

/** Why no disk can be mounted; undefined if one can. */
export const noSmallDisk: string | undefined = reason()

function reason(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root may mount a disk"
  try {
    mountSmallDisk(1).close()
    return undefined
  } catch {
    return "this machine does not allow to mount a disk"
  }
}

export function mountSmallDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "signet-disk-"))
  const run = (...command: [string, ...string[]]) =>
    execFileSync(command[0], command.slice(1), { stdio: ["ignore", "ignore", "pipe"] })
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=755`, "signet", folder)
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  const ballast = join(folder, "ballast")
  mkdirSync(folder, { recursive: true })
  return {
    folder,
    fill(leftBytes) {
      const { bavail, bsize } = statfsSync(folder)
      writeFileSync(ballast, "")
      run("fallocate", "-l", String(Math.max(1, bavail * bsize - leftBytes)), ballast)
    },
    free: () => truncateSync(ballast),
    close() {
      run("umount", "-l", folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
