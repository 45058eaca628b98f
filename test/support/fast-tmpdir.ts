import fs from "node:fs"
import os from "node:os"

/**
 * Where databases of tests are kept: in memory, where there is room. Copying one takes 10 ms there, and on some disks
 * half a second. Programs may not be allowed to run from it.
 */
export function fastTmpdir(): string {
  const memory = "/dev/shm"
  if (!fs.existsSync(memory)) return os.tmpdir()
  const { bavail, bsize } = fs.statfsSync(memory)
  // The suite needs 100 MB, and a container often has 64 MB in all.
  return bavail * bsize > 1_000_000_000 ? memory : os.tmpdir()
}
