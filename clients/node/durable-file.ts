import { open } from "node:fs/promises"

/**
 * Writes a new file for its owner alone. It is completely on the disk when this resolves; its name is after its folder
 * is synced.
 */
export async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs a folder: a new name survives a power failure only then. Ignored where folders cannot be opened. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined)
  try {
    await handle?.sync().catch(() => undefined)
  } finally {
    await handle?.close()
  }
}
