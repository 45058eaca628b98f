import type { FolderFiles } from "../folder-files.ts"

interface MemoryFiles extends FolderFiles {
  /** A power failure: of the changes of names since the last sync, each survives if `keeps` returns true. */
  cut(keeps: () => boolean): void
}

/** Files with the durability of a disk: bytes when they were written, names when the folder was synced. */
export function memoryFiles(): MemoryFiles {
  const named = new Map<string, Uint8Array>()
  let onDisk = new Map<string, Uint8Array>()
  return {
    make: async () => undefined,
    list: async () => [...named.keys()],
    read: async (name) => named.get(name)?.slice(),
    async write(name, bytes) {
      if (named.has(name)) throw new Error("it is there")
      named.set(name, bytes.slice())
    },
    async name(file, name) {
      const bytes = named.get(file)
      if (bytes === undefined) throw new Error("it is not there")
      if (named.has(name)) return false
      named.set(name, bytes)
      return true
    },
    remove: async (name) => void named.delete(name),
    async sync() {
      onDisk = new Map(named)
    },
    cut(keeps) {
      for (const name of new Set([...named.keys(), ...onDisk.keys()])) {
        const now = named.get(name)
        const before = onDisk.get(name)
        if (now === before || keeps()) continue
        if (before === undefined) named.delete(name)
        else named.set(name, before)
      }
      onDisk = new Map(named)
    },
  }
}
