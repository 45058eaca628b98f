import fs from "node:fs"
import os from "node:os"

/**
 * Folder for test databases: in memory if there is room. Copying one takes 10 ms there, and up to half a second on some
 * disks. Programs may not be executable there.
 */
export function fastTmpdir(): string {
  const memory = "/dev/shm"
  if (!fs.existsSync(memory)) return os.tmpdir()
  const { bavail, bsize } = fs.statfsSync(memory)
  // The suite needs 100 MB; containers often have only 64 MB.
  return bavail * bsize > 1_000_000_000 ? memory : os.tmpdir()
}
